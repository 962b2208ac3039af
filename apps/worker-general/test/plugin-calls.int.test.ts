import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";
import { recordDead } from "@toolctrl/db/receipts";
import { type PluginHook, type PluginTransaction, disablePluginSubscription, listPluginSubscriptions } from "@toolctrl/domain/plugins";
import { rowCreate } from "@toolctrl/domain/rows";
import { verifyWebhook } from "@toolctrl/domain/webhook-endpoints";
import { CodedError } from "@toolctrl/foundation/errors";
import { expect, test } from "vitest";
import { HOOK, LEAD, type PluginRig, openPlugins } from "./plugin-support.ts";

/** A row that a function writes; the name tells which try it was. */
async function write(tx: PluginTransaction, hook: PluginHook, name: string): Promise<void> {
  await tx.query(`INSERT INTO "TenantCounter" ("tenantId", "name", "value") VALUES ($1, $2, 1)`, [hook.tenantId, name]);
}

async function written({ database, tenantId }: PluginRig): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(`SELECT "name" FROM "TenantCounter" WHERE "tenantId" = $1 ORDER BY "name"`, [
    tenantId,
  ]);
  return rows.map(({ name }) => name);
}

test("what a function writes and publishes is there once, of the try that ended well; every try has the same key", async () => {
  const rig = await openPlugins();
  const keys: string[] = [];
  const hooks: PluginHook[] = [];
  const subscriptionId = await rig.subscribe("enrich", ["plugin.hook.lead."]);
  rig.start({
    async enrich(hook, { tx, idempotencyKey }) {
      hooks.push(hook);
      await write(tx, hook, `try ${keys.push(idempotencyKey)}`);
      await publishOutboxEvent(tx, {
        tenantId: hook.tenantId,
        type: "audit.entry.record",
        payload: { actor: "p", action: "a", object: "lead", recordId: "7" },
      });
      if (keys.length < 3) throw new Error("not yet");
    },
  });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  expect(await written(rig)).toEqual(["try 3"]);
  const { rows } = await rig.database.pool.query(`SELECT 1 FROM "OutboxEvent" WHERE "eventType" = 'audit.entry.record'`);
  expect(rows).toHaveLength(1);
  expect(keys).toEqual(Array.from({ length: 3 }, () => `${id}-${subscriptionId}`));
  const { tenantId } = rig;
  expect(hooks[0]).toEqual({
    eventId: id,
    tenantId,
    type: HOOK,
    payload: LEAD,
    createdAt: expect.stringMatching(/Z$/),
    depth: 1,
    pluginId: "p",
    subscriptionId,
  });
});

test("what a function publishes comes of its hook, whichever way it is published, and the function knows how deep that is", async () => {
  const rig = await openPlugins();
  const { tenantId, database } = rig;
  let told: number | undefined;
  await rig.subscribe("again");
  rig.start({
    async again({ depth }, { tx }) {
      told = depth;
      const note = { tenantId, table: "note", data: {} };
      await rowCreate(tx, { ...note, context: { kind: "request", actor: "p" } });
      await rowCreate(outboxTransactionOf(tx), note);
      await publishOutboxEvent(tx, { tenantId, type: "audit.other.done", payload: {}, correlationId: "own", causationId: "own" });
    },
  });
  const hook = { tenantId, type: "plugin.hook.workflow.executed", payload: {}, depth: 7, correlationId: "case" } as const;
  const { id } = await database.prisma.$transaction((tx) => publishOutboxEvent(tx, hook));
  await rig.handOff();
  await rig.untilReceipt(id, "plugin-invoke");
  const { rows } = await database.pool.query(
    `SELECT "eventType" AS "type", "depth", "correlationId", "causationId" FROM "OutboxEvent" WHERE "tenantId" = $1 AND "id" <> $2 ORDER BY "position"`,
    [tenantId, id],
  );
  const ofHook = { depth: 8, correlationId: "case", causationId: id };
  expect(rows).toEqual([
    { type: "record.note.created", ...ofHook },
    { type: "workflow.trigger.event", ...ofHook },
    { type: "webhook.row.created", ...ofHook },
    { type: "record.note.created", ...ofHook },
    { type: "audit.other.done", depth: 8, correlationId: "own", causationId: "own" },
  ]);
  expect(told).toBe(8);
});

test("ten deliveries of a hook at once, with no claim before them, run its function to the end once", async () => {
  const rig = await openPlugins();
  const target = await rig.subscribe("count");
  rig.start({}, { only: "plugin-fanout" });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-fanout");
  let runs = 0;
  const consumer = rig.invoker({
    count: async (hook, { tx }) => write(tx, hook, `run ${(runs += 1)}`),
  });
  const delivery = rig.deliveryOf(id, target);
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => consumer.handle(delivery)));
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
  expect(await written(rig)).toHaveLength(1);
  expect(await rig.intents(id)).toMatchObject([{ state: "sent", attempts: 1 }]);
  expect((await rig.receipts(id))["plugin-invoke"]).toBe("done 0");
});

test("a function whose time is up is told to stop and writes nothing more: its try is rolled back, and the next one counts", async () => {
  const rig = await openPlugins();
  const seen: PluginTransaction[] = [];
  const refused: unknown[] = [];
  await rig.subscribe("slow");
  rig.start(
    {
      async slow(hook, { tx, signal }) {
        const [first] = seen;
        await write(tx, hook, `try ${seen.push(tx)}`);
        // What a function does that does not listen.
        if (first !== undefined) return write(first, hook, "late").catch((error: unknown) => void refused.push(error));
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        await new Promise(() => undefined);
      },
    },
    { env: { PLUGIN_DEADLINE_MS: "300" } },
  );
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  expect(await written(rig)).toEqual(["try 2"]);
  expect(await rig.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 0 }]);
  expect(refused).toMatchObject([{ code: "EFFECT.REVOKED" }]);
});

test("a statement that a function's time leaves behind ends too, and the worker's connection is free again", async () => {
  const rig = await openPlugins();
  await rig.subscribe("stuck");
  rig.start(
    { stuck: async (_hook, { tx }) => void (await tx.query("SELECT pg_sleep(600)")) },
    { env: { PLUGIN_DEADLINE_MS: "200", PLUGIN_MAX_ATTEMPTS: "1" } },
  );
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke", "dead 0");
  const [intent] = await rig.intents(id);
  expect(intent).toMatchObject({ state: "failed", attempts: 1, lastErrorCode: "PLUGIN.TIMEOUT" });
  const { rows } = await rig.database.pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query = 'SELECT pg_sleep(600)'`,
  );
  expect(rows).toEqual([]);
});

test("a lock that somebody else holds is no failure of the function's: it waits, and no try is counted", async () => {
  const rig = await openPlugins();
  await rig.subscribe("locked");
  let tries = 0;
  rig.start({
    async locked(hook, { tx }) {
      if ((tries += 1) === 1) throw Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" });
      await write(tx, hook, "done");
    },
  });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  expect(await rig.intents(id)).toMatchObject([{ state: "sent", attempts: 1 }]);
});

test("functions that are not there, refuse for good, or fail at every try are dead, each with its code and its number of tries", async () => {
  const rig = await openPlugins();
  const dead = {
    missing: ["PLUGIN.UNKNOWN_FUNCTION", 0],
    // A property that every object has is no function of the worker's.
    constructor: ["PLUGIN.UNKNOWN_FUNCTION", 0],
    refuses: ["ROW.NOT_FOUND", 1],
    fails: ["PLUGIN.FAILED", 3],
    throws: ["PLUGIN.FAILED", 3],
  };
  const names: Record<string, string> = {};
  for (const name of Object.keys(dead)) names[await rig.subscribe(name)] = name;
  rig.start({
    refuses: () => Promise.reject(new CodedError("ROW.NOT_FOUND", "expected a row")),
    fails: () => Promise.reject(new Error("no")),
    throws: () => {
      throw new Error("no");
    },
  });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke", "dead 0");
  const intents = await rig.intents(id);
  expect(Object.fromEntries(intents.map((intent) => [names[intent.target], [intent.lastErrorCode, intent.attempts]]))).toEqual(dead);
  expect(intents.every(({ state }) => state === "failed")).toBe(true);
});

test("a dead hook is called again once for each requeue, and not by the same job that comes again before its death is written", async () => {
  const rig = await openPlugins();
  const target = await rig.subscribe("broken");
  rig.start({}, { only: "plugin-fanout" });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-fanout");
  let calls = 0;
  const invoker = rig.invoker({
    broken: async () => {
      calls += 1;
      throw new CodedError("ROW.NOT_FOUND", "expected the lead to be there");
    },
  });
  const deliver = async (generation: number): Promise<void> => {
    const delivery = rig.deliveryOf(id, target);
    expect(await invoker.handle({ ...delivery, envelope: { ...delivery.envelope, generation } })).toMatchObject({ kind: "cancel" });
  };
  for (const generation of [0, 1, 2]) {
    await deliver(generation);
    await deliver(generation);
    const receipt = { eventId: id, tenantId: rig.tenantId, consumer: `plugin-invoke/${target}`, effectEpoch: 0 };
    await recordDead(rig.database.pool, { ...receipt, generation, error: "dead" });
    await deliver(generation);
    expect(calls).toBe(generation + 1);
  }
});

test("a subscribed URL is called once, signed over the bytes received, under an id of its own subscription", async () => {
  const rig = await openPlugins();
  const first = await rig.subscribeUrl("/hook");
  const second = await rig.subscribeUrl("/hook");
  rig.start();
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  const ids = rig.peer.requests.map(({ headers }) => String(headers["webhook-id"]));
  expect(ids.toSorted()).toEqual([`${id}-${first.id}`, `${id}-${second.id}`]);
  for (const { id: subscriptionId, secret } of [first, second]) {
    const request = rig.peer.requests.find(({ headers }) => headers["webhook-id"] === `${id}-${subscriptionId}`);
    if (request === undefined) throw new Error("expected a request of each subscription");
    expect(request.headers["toolctrl-depth"]).toBe("1");
    expect(verifyWebhook({ secret, headers: request.headers, body: request.body })).toBe(true);
    expect(JSON.parse(request.text)).toEqual({ type: HOOK, timestamp: expect.any(String), data: LEAD });
  }
});

test.each(["drop", "hang"] as const)(
  "an answer that is lost (%s) is recorded as unknown, and the call repeated under the same id",
  async (reply) => {
    const rig = await openPlugins();
    const { id: subscriptionId } = await rig.subscribeUrl("/hook");
    rig.peer.respond((_request, index) => (index === 0 ? reply : { status: 200 }));
    rig.start({}, { env: { PLUGIN_DEADLINE_MS: "300" } });
    const id = await rig.publish();
    await rig.untilReceipt(id, "plugin-invoke");
    expect(await rig.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 1 }]);
    expect(rig.peer.requests.map(({ headers }) => headers["webhook-id"])).toEqual([`${id}-${subscriptionId}`, `${id}-${subscriptionId}`]);
  },
);

test("410 takes the subscription out of service with its reason; the event is done, and later ones do not reach it", async () => {
  const rig = await openPlugins();
  const { id: subscriptionId } = await rig.subscribeUrl("/gone");
  rig.peer.respond(() => ({ status: 410 }));
  rig.start();
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  const [subscription] = await listPluginSubscriptions(rig.database.prisma, { tenantId: rig.tenantId });
  expect(subscription).toMatchObject({ enabled: false, disabledReason: `answered 410 to ${id}-${subscriptionId}` });
  const later = await rig.publish();
  await rig.untilReceipt(later, "plugin-invoke");
  expect(rig.peer.requests).toHaveLength(1);
});

test("a subscription that is disabled while its hook waits is not called any more, and that is no failure of the event's", async () => {
  const rig = await openPlugins();
  const { id: subscriptionId } = await rig.subscribeUrl("/hook");
  const tenant = { tenantId: rig.tenantId, id: subscriptionId };
  rig.peer.respond(async () => {
    await rig.database.prisma.$transaction((tx) => disablePluginSubscription(tx, tenant, "the trial has ended"));
    return { status: 500 };
  });
  rig.start();
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  expect(rig.peer.requests).toHaveLength(1);
  expect(await rig.intents(id)).toMatchObject([{ state: "failed", attempts: 1, lastErrorCode: "PLUGIN.GONE" }]);
});

test.each([
  ["no key", { PLUGIN_SECRETS_KEY: "" }, "expected PLUGIN_SECRETS_KEY to be set"],
  ["another key", { PLUGIN_SECRETS_KEY: Buffer.alloc(32, 9).toString("base64") }, "expected the secrets of subscription"],
])(
  "a worker with %s cannot sign: the hook is dead and says what to do, functions run, and with the key a requeue calls it",
  async (_what, env, why) => {
    const rig = await openPlugins();
    const ran: string[] = [];
    await rig.subscribeUrl("/hook");
    await rig.subscribe("f");
    const functions = { f: async () => void ran.push("f") };
    const worker = rig.start(functions, { env });
    const id = await rig.publish();
    await rig.untilReceipt(id, "plugin-invoke", "dead 0");
    const { rows } = await rig.database.pool.query(
      `SELECT "detail" FROM "OutboxReceipt" WHERE "eventId" = $1 AND "consumer" = 'plugin-invoke'`,
      [id],
    );
    expect(rows).toEqual([{ detail: expect.stringContaining(why) }]);
    expect(rig.peer.requests).toHaveLength(0);
    await worker.close();
    rig.start(functions);
    await rig.requeue(id);
    await rig.untilReceipt(id, "plugin-invoke");
    expect(rig.peer.requests).toHaveLength(1);
    expect(ran).toEqual(["f"]);
  },
);
