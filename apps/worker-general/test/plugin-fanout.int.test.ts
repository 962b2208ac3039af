import { disablePluginSubscription } from "@toolctrl/domain/plugins";
import type { QueueBackend } from "@toolctrl/queue/port";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { openPlugins } from "./plugin-support.ts";

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
  await rig.database.pool.query(`UPDATE "OutboxIntent" SET "notBefore" = NULL`);
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
