import { disablePluginSubscription, listPluginSubscriptions } from "@toolctrl/domain/plugins";
import { verifyWebhook } from "@toolctrl/domain/webhook-endpoints";
import { expect, test } from "vitest";
import { HOOK, LEAD, openPlugins } from "./plugin-support.ts";

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
