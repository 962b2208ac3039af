import { expect, test } from "vitest";
import {
  createPluginSubscription,
  disablePluginSubscription,
  enablePluginSubscription,
  findSubscribedPlugins,
  listPluginSubscriptions,
  loadPluginTarget,
  openPluginSecrets,
  type NewPluginSubscription,
} from "../src/plugins.ts";
import { openDatabase, rowsOf, TENANT } from "./support.ts";

const secretsKey = Buffer.alloc(32, 3).toString("base64");
const fn = {
  tenantId: TENANT,
  pluginId: "crm.sync",
  eventPrefixes: ["plugin.hook.lead."],
  kind: "function",
  functionName: "push",
} as const;
const http = {
  tenantId: TENANT,
  pluginId: "crm.sync",
  eventPrefixes: [],
  kind: "http",
  url: "https://plugin.example/hook",
  secretsKey,
} as const;

test("subscriptions are listed without their secrets, oldest first, by plugin too; a secret is told once and stored sealed", async () => {
  const database = await openDatabase();
  const { prisma } = database;
  const first = await prisma.$transaction((tx) => createPluginSubscription(tx, fn));
  const second = await prisma.$transaction((tx) => createPluginSubscription(tx, { ...http, pluginId: "other" }));
  expect(first.secret).toBeNull();
  expect(second.secret).toMatch(/^whsec_/);
  const all = await listPluginSubscriptions(prisma, { tenantId: TENANT });
  expect(all).toMatchObject([
    { id: first.id, kind: "function", functionName: "push", url: null, eventPrefixes: ["plugin.hook.lead"], enabled: true },
    { id: second.id, kind: "http", functionName: null, url: "https://plugin.example/hook", enabled: true },
  ]);
  expect(JSON.stringify(all)).not.toContain("secret");
  expect(await listPluginSubscriptions(prisma, { tenantId: TENANT, pluginId: "other" })).toHaveLength(1);
  expect(await listPluginSubscriptions(prisma, { tenantId: "rival" })).toEqual([]);
  const [stored] = await rowsOf(database, `SELECT "secrets"::text AS "secrets" FROM "PluginSubscription" WHERE "kind" = 'http'`);
  expect(stored?.["secrets"]).not.toContain(second.secret?.slice("whsec_".length));
  const target = await loadPluginTarget(database.pool, { tenantId: TENANT, id: second.id });
  if (target?.kind !== "http") throw new Error("expected an HTTP subscription");
  expect(openPluginSecrets(target, secretsKey)).toEqual([second.secret]);
});

test("a disabled subscription is called no more and keeps the first reason; enabled again it is; a rival changes nothing", async () => {
  const database = await openDatabase();
  const { prisma, pool } = database;
  const { id } = await prisma.$transaction((tx) => createPluginSubscription(tx, fn));
  const own = { tenantId: TENANT, id };
  const rival = { tenantId: "rival", id };
  const subscribed = () => findSubscribedPlugins(pool, { tenantId: TENANT, type: "plugin.hook.lead.created" });
  expect(await prisma.$transaction((tx) => disablePluginSubscription(tx, rival, "theirs"))).toBe(false);
  expect(await subscribed()).toEqual([id]);
  expect(await prisma.$transaction((tx) => disablePluginSubscription(tx, own, "first"))).toBe(true);
  expect(await prisma.$transaction((tx) => disablePluginSubscription(tx, own, "second"))).toBe(false);
  expect(await subscribed()).toEqual([]);
  expect(await listPluginSubscriptions(prisma, { tenantId: TENANT })).toMatchObject([
    { enabled: false, disabledReason: "first", disabledAt: expect.any(Date) },
  ]);
  expect(await prisma.$transaction((tx) => enablePluginSubscription(tx, rival))).toBe(false);
  expect(await prisma.$transaction((tx) => enablePluginSubscription(tx, own))).toBe(true);
  expect(await subscribed()).toEqual([id]);
  expect(await listPluginSubscriptions(prisma, { tenantId: TENANT })).toMatchObject([
    { enabled: true, disabledReason: null, disabledAt: null },
  ]);
  expect(await loadPluginTarget(pool, rival)).toBeNull();
});

const CASES: ReadonlyArray<readonly [what: string, code: string, subscription: NewPluginSubscription]> = [
  ["a plugin's name with a blank", "PLUGIN.ARGUMENT", { ...fn, pluginId: "my plugin" }],
  ["an empty function name", "PLUGIN.ARGUMENT", { ...fn, functionName: "" }],
  ["a prefix of other events, which would never match", "PLUGIN.ARGUMENT", { ...fn, eventPrefixes: ["record.lead"] }],
  ["a prefix of other words", "PLUGIN.ARGUMENT", { ...fn, eventPrefixes: ["plugin.hooks"] }],
  ["a malformed prefix", "PUBLISH.EVENT_TYPE", { ...fn, eventPrefixes: ["plugin..hook"] }],
  ["a URL with credentials", "HTTP.BAD_URL", { ...http, url: "https://u:p@plugin.example/" }],
  ["a URL of another scheme", "HTTP.BAD_URL", { ...http, url: "file:///etc/passwd" }],
  ["a secret of another form", "PLUGIN.SECRET", { ...http, secret: "hunter2" }],
  ["a key of another length", "PLUGIN.SECRET", { ...http, secretsKey: "c2hvcnQ=" }],
];

test("what cannot be called is refused when it subscribes, by name", async () => {
  const { prisma } = await openDatabase();
  const codes = await Promise.all(
    CASES.map(([, , subscription]) =>
      prisma
        .$transaction((tx) => createPluginSubscription(tx, subscription))
        .then(
          () => "none",
          (error: { code?: string }) => error.code,
        ),
    ),
  );
  expect(CASES.map(([what], index) => `${what}: ${codes[index]}`)).toEqual(CASES.map(([what, code]) => `${what}: ${code}`));
  expect(await listPluginSubscriptions(prisma, { tenantId: TENANT })).toEqual([]);
});

test.each([
  ["no key", undefined, "PLUGIN_SECRETS_KEY to be set"],
  ["another key", Buffer.alloc(32, 4).toString("base64"), "secrets of subscription"],
])("secrets do not open with %s, and the error names the subscription", async (_what, key, why) => {
  const { prisma, pool } = await openDatabase();
  const { id } = await prisma.$transaction((tx) => createPluginSubscription(tx, http));
  const target = await loadPluginTarget(pool, { tenantId: TENANT, id });
  if (target?.kind !== "http") throw new Error("expected an HTTP subscription");
  expect(() => openPluginSecrets(target, key)).toThrow(
    expect.objectContaining({ code: "PLUGIN.SECRET", message: expect.stringContaining(why), facts: { subscriptionId: id } }),
  );
});
