import { disablePluginSubscription } from "@toolctrl/domain/plugins";
import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueBackend } from "@toolctrl/queue/port";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { openPlugins } from "./plugin-support.ts";

test.each(["function", "http"] as const)(
  "a plugin that fails twice (%s) is called three times, and the others of the event once",
  async (kind) => {
    const rig = await openPlugins();
    const calls: Record<string, number> = { h1: 0, h2: 0, h3: 0 };
    const accepts = (name: string): boolean => (calls[name] = (calls[name] ?? 0) + 1) > (name === "h2" ? 2 : 0);
    for (const name of ["h1", "h2", "h3"]) await (kind === "function" ? rig.subscribe(name) : rig.subscribeUrl(`/${name}`));
    rig.peer.respond(({ path }) => ({ status: accepts(path.slice(1)) ? 204 : 500 }));
    const run = (name: string) => async () => {
      if (!accepts(name)) throw new Error("not yet");
    };
    rig.start({ h1: run("h1"), h2: run("h2"), h3: run("h3") });
    const id = await rig.publish();
    await rig.untilReceipt(id, "plugin-invoke");
    await rig.untilIdle();
    expect(calls).toEqual({ h1: 1, h2: 3, h3: 1 });
    expect((await rig.intents(id)).map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(["sent 1", "sent 3", "sent 1"]);
    expect(Object.values(await rig.receipts(id))).toEqual(Array.from({ length: 5 }, () => "done 0"));
    expect(await rig.verdict(id)).toBe("finished");
  },
);

test("a plugin that fails for good is dead alone; the requeued event calls it once more, and no other", async () => {
  const rig = await openPlugins();
  const calls: string[] = [];
  const h1 = await rig.subscribe("h1");
  const h2 = await rig.subscribe("h2");
  const h3 = await rig.subscribe("h3");
  let broken = true;
  const run = (name: string) => async () => {
    calls.push(name);
    if (broken && name === "h2") throw new CodedError("ROW.NOT_FOUND", "expected the lead to be there");
  };
  rig.start({ h1: run("h1"), h2: run("h2"), h3: run("h3") });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke", "dead 0");
  await rig.untilIdle();
  expect(calls.toSorted()).toEqual(["h1", "h2", "h3"]);
  expect(await rig.receipts(id)).toEqual({
    "plugin-fanout": "done 0",
    [`plugin-invoke/${h1}`]: "done 0",
    [`plugin-invoke/${h2}`]: "dead 0",
    [`plugin-invoke/${h3}`]: "done 0",
    "plugin-invoke": "dead 0",
  });
  expect(await rig.verdict(id)).toBe("dead");
  broken = false;
  await rig.requeue(id);
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(calls.toSorted()).toEqual(["h1", "h2", "h2", "h3"]);
  expect(await rig.verdict(id)).toBe("finished");
});

test("a hook reaches the enabled subscriptions of its tenant that take its type, whole segments of it, and no other", async () => {
  const rig = await openPlugins();
  const called: string[] = [];
  const record = (name: string) => async () => void called.push(name);
  const names = ["all", "leads", "whole", "half", "orders", "rival", "off"];
  await rig.subscribe("all");
  await rig.subscribe("leads", ["plugin.hook.order", "plugin.hook.lead."]);
  await rig.subscribe("whole", ["plugin.hook.lead.created"]);
  await rig.subscribe("half", ["plugin.hook.le"]);
  await rig.subscribe("orders", ["plugin.hook.order"]);
  await rig.subscribe("rival", [], "rival");
  const off = await rig.subscribe("off");
  await rig.database.prisma.$transaction((tx) => disablePluginSubscription(tx, { tenantId: rig.tenantId, id: off }, "not paid"));
  rig.start(Object.fromEntries(names.map((name) => [name, record(name)])));
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(called.toSorted()).toEqual(["all", "leads", "whole"]);
  expect(await rig.intents(id)).toHaveLength(3);
});

test("a hook that nobody subscribes to is finished at once", async () => {
  const rig = await openPlugins();
  rig.start();
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  expect(await rig.receipts(id)).toEqual({ "plugin-fanout": "done 0", "plugin-invoke": "done 0" });
  expect(await rig.backend.counts("toolctrl.plugin-invoke")).toMatchObject({ completed: 0, failed: 0 });
});

test("the queue fails between the fan-out's commit and its jobs: the next delivery adds them, and each plugin is called once", async () => {
  const rig = await openPlugins();
  const called: string[] = [];
  for (const name of ["a", "b"]) await rig.subscribe(name);
  let failures = 0;
  const backend: Pick<QueueBackend, "addAll"> = {
    async addAll(jobs) {
      const [first] = jobs;
      if ((failures += 1) > 2 || first === undefined) return rig.backend.addAll(jobs);
      // One of the jobs is there, the answer says that none is.
      await rig.backend.addAll([first]);
      return jobs.map(() => ({ ok: false, error: new Error("the queue is away") }));
    },
  };
  rig.start({ a: async () => void called.push("a"), b: async () => void called.push("b") }, { backend });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(called.toSorted()).toEqual(["a", "b"]);
});

test("jobs that the queue has lost are added by a requeue, for those alone that are not settled", async () => {
  const rig = await openPlugins();
  const called: string[] = [];
  for (const name of ["a", "b"]) await rig.subscribe(name);
  let away = true;
  const functions = {
    a: async () => void called.push("a"),
    b: async () => {
      called.push("b");
      if (away) throw new Error("not now");
    },
  };
  const worker = rig.start(functions, { env: { PLUGIN_BACKOFF_MS: "600000" } });
  const id = await rig.publish();
  await waitFor(
    async () =>
      (await rig.intents(id))
        .map(({ state, attempts }) => `${state} ${attempts}`)
        .toSorted()
        .join() === "pending 1,sent 1",
  );
  await worker.close();
  await rig.backend.obliterate("toolctrl.plugin-invoke");
  await rig.database.pool.query(`UPDATE "OutboxIntent" SET "notBefore" = NULL WHERE "eventId" = $1`, [id]);
  away = false;
  rig.start(functions);
  await rig.requeue(id);
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(called.toSorted()).toEqual(["a", "b", "b"]);
});

test("a job that dies outside of its handler settles its hook as failed: the event is dead, not stuck", async () => {
  const rig = await openPlugins();
  const [a, b] = [await rig.subscribe("a"), await rig.subscribe("b")];
  rig.start({}, { only: "plugin-fanout" });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-fanout");
  // What a process leaves behind that was ended in the middle of a call, and then too often.
  await rig.database.pool.query(
    `UPDATE "OutboxIntent" SET "state" = 'sending', "token" = gen_random_uuid(), "sendingSince" = clock_timestamp(), "attempts" = 1 WHERE "target" = $1`,
    [a],
  );
  // Its payload is gone: each delivery ends before the handler has it.
  await rig.database.pool.query(`DELETE FROM "OutboxEvent" WHERE "id" = $1`, [id]);
  rig.start({}, { only: "plugin-invoke" });
  await rig.untilReceipt(id, "plugin-invoke", "dead 0");
  expect(await rig.receipts(id)).toMatchObject({ [`plugin-invoke/${a}`]: "dead 0", [`plugin-invoke/${b}`]: "dead 0" });
  expect(await rig.intents(id)).toMatchObject([
    { target: a, state: "failed", attempts: 1, unknowns: 1, lastErrorCode: "RECEIVER.EVENT_GONE" },
    { target: b, state: "failed", attempts: 0, unknowns: 0, lastErrorCode: "RECEIVER.EVENT_GONE" },
  ]);
});

test("plugin-invoke replayed calls those that were called before, under keys of their own, and nobody who subscribed since", async () => {
  const rig = await openPlugins();
  const keys: string[] = [];
  const a = await rig.subscribe("a");
  const b = await rig.subscribe("b");
  const record = async (_hook: unknown, { idempotencyKey }: { idempotencyKey: string }) => void keys.push(idempotencyKey);
  rig.start({ a: record, b: record, late: record });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.subscribe("late");
  await rig.requeue(id, "plugin-invoke");
  await rig.untilReceipt(id, "plugin-invoke", "done 1");
  await rig.untilIdle();
  expect(keys.toSorted()).toEqual([`${id}-${a}`, `${id}-${a}-1`, `${id}-${b}`, `${id}-${b}-1`]);
  // A requeue is no repeat: of that epoch everything is done.
  await rig.requeue(id);
  await rig.untilIdle();
  expect(keys).toHaveLength(4);
  expect(await rig.verdict(id)).toBe("finished");
});

test("plugin-fanout replayed calls those who subscribed since, and nobody again; until they have ended, the event is not finished", async () => {
  const rig = await openPlugins();
  const called: string[] = [];
  await rig.subscribe("a");
  const gate = Promise.withResolvers<void>();
  rig.start({
    a: async () => void called.push("a"),
    late: async () => {
      called.push("late");
      await gate.promise;
    },
  });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  const late = await rig.subscribe("late");
  await rig.requeue(id, "plugin-fanout");
  await rig.untilReceipt(id, "plugin-fanout", "done 1");
  expect(await rig.receipts(id)).not.toHaveProperty("plugin-invoke");
  gate.resolve();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(called).toEqual(["a", "late"]);
  expect((await rig.receipts(id))[`plugin-invoke/${late}`]).toBe("done 0");
  expect(await rig.verdict(id)).toBe("finished");
});

test("a replay of plugin-invoke for an event that nobody subscribed to is done at once", async () => {
  const rig = await openPlugins();
  rig.start();
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.requeue(id, "plugin-invoke");
  await rig.untilReceipt(id, "plugin-invoke", "done 1");
  expect(await rig.verdict(id)).toBe("finished");
});

test("one plugin that fails in a repeat is dead there alone; requeued, it is called again in the same repeat", async () => {
  const rig = await openPlugins();
  const keys: string[] = [];
  let broken = false;
  await rig.subscribe("a");
  const b = await rig.subscribe("b");
  rig.start(
    {
      a: async () => void keys.push("a"),
      b: async (_hook, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (broken) throw new Error("not today");
      },
    },
    { env: { PLUGIN_MAX_ATTEMPTS: "1" } },
  );
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  broken = true;
  await rig.requeue(id, "plugin-invoke");
  await rig.untilReceipt(id, "plugin-invoke", "dead 1");
  broken = false;
  await rig.requeue(id);
  await rig.untilReceipt(id, "plugin-invoke", "done 1");
  await rig.untilIdle();
  expect(keys.toSorted()).toEqual([`${id}-${b}`, `${id}-${b}-1`, `${id}-${b}-1`, "a", "a"]);
});
