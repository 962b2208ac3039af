import { transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf, type OutboxTransaction } from "@toolctrl/db/outbox";
import { expect, test } from "vitest";
import { countCapabilityUse, mayUseCapability, readCapabilityUsage, setCapabilityQuota, type CapabilityUse } from "../src/plugins.ts";
import { openDatabase, publishedEvents, rowsOf, TENANT } from "./support.ts";

const KEY = { tenantId: TENANT, pluginId: "translator", capability: "words" };
const EVENT_ID = "0190a0a0-0000-7000-8000-000000000001";

function within<T>(database: Database, fn: (tx: OutboxTransaction) => Promise<T>): Promise<T> {
  return transaction(database.pool, (tx) => fn(outboxTransactionOf(tx)));
}

const setQuota = (database: Database, perMonth: bigint | null) => within(database, (tx) => setCapabilityQuota(tx, { ...KEY, perMonth }));

function use(database: Database, amount: number, parts: Partial<CapabilityUse> = {}): Promise<unknown> {
  const event = { causationId: EVENT_ID, correlationId: "c1", depth: 3 };
  return within(database, (tx) => countCapabilityUse(tx, { ...KEY, amount, usedAt: "2026-12-15T12:00:00.000Z", event, ...parts }));
}

test("uses of a month are summed for each tenant, plugin and capability, the month being that of the event in UTC", async () => {
  const database = await openDatabase();
  await use(database, 5);
  await use(database, 7);
  await use(database, 1, { usedAt: "2026-12-31T23:59:59.999Z" });
  await use(database, 100, { usedAt: "2027-01-01T00:00:00.000Z" });
  // Half past midnight in Moscow is still the old year.
  await use(database, 1000, { usedAt: "2027-01-01T00:30:00+03:00" });
  await use(database, 3, { capability: "pages" });
  await use(database, 4, { pluginId: "other" });
  await use(database, 6, { tenantId: "rival" });
  const usage = (key: object) => readCapabilityUsage(database.pool, { ...KEY, period: "2026-12", ...key });
  expect(await usage({})).toEqual({ period: "2026-12", used: 1013n, perMonth: null });
  expect(await usage({ period: "2027-01" })).toMatchObject({ used: 100n });
  expect(await usage({ period: "2027-02" })).toMatchObject({ used: 0n });
  expect([await usage({ capability: "pages" }), await usage({ pluginId: "other" }), await usage({ tenantId: "rival" })]).toMatchObject([
    { used: 3n },
    { used: 4n },
    { used: 6n },
  ]);
});

test("counts beyond what a number can hold exactly are exact", async () => {
  const database = await openDatabase();
  await database.pool.query(
    `INSERT INTO "PluginUsage" ("tenantId", "pluginId", "capability", "period", "used") VALUES ($1, $2, $3, '2026-12', $4)`,
    [...Object.values(KEY), "9007199254740993"],
  );
  await use(database, 1);
  expect((await readCapabilityUsage(database.pool, { ...KEY, period: "2026-12" })).used).toBe(9_007_199_254_740_994n);
});

test("forty uses at once cross the quota: all are counted, and the tenant is told once, by an event that says what led to it", async () => {
  const database = await openDatabase(20);
  await setQuota(database, 20n);
  await Promise.all(Array.from({ length: 40 }, () => use(database, 1)));
  await Promise.all(Array.from({ length: 5 }, () => use(database, 1)));
  expect((await readCapabilityUsage(database.pool, { ...KEY, period: "2026-12" })).used).toBe(45n);
  const events = await publishedEvents(database);
  expect(events).toMatchObject([
    {
      tenantId: TENANT,
      type: "notification.message.create",
      payload: {
        recipientId: null,
        title: "The plugin translator has used up its words of 2026-12",
        body: expect.stringContaining("20 a month"),
      },
      correlationId: "c1",
      depth: 3,
    },
  ]);
  expect(await rowsOf(database, `SELECT "causationId", "dispatchKey" FROM "OutboxEvent"`)).toEqual([
    { causationId: EVENT_ID, dispatchKey: "plugin-quota/translator/words/2026-12" },
  ]);
});

test("the tenant is told again in the next month, and not again in this one, whatever becomes of the quota and of the event", async () => {
  const database = await openDatabase();
  await setQuota(database, 10n);
  await use(database, 10);
  await setQuota(database, 20n);
  // Retention has deleted the first event, and with it its dispatch key.
  await database.pool.query(`DELETE FROM "OutboxEvent"`);
  await use(database, 15);
  expect(await publishedEvents(database)).toEqual([]);
  await use(database, 25, { usedAt: "2027-01-02T00:00:00.000Z" });
  expect(await publishedEvents(database)).toHaveLength(1);
});

test("a quota that is lowered below what is used, or is 0, is told of at the next use", async () => {
  const database = await openDatabase();
  await use(database, 50);
  await setQuota(database, 40n);
  expect(await publishedEvents(database)).toEqual([]);
  await use(database, 1);
  await within(database, (tx) => setCapabilityQuota(tx, { ...KEY, capability: "pages", perMonth: 0n }));
  await use(database, 1, { capability: "pages" });
  expect(await publishedEvents(database)).toHaveLength(2);
});

test("a use that is rolled back is neither counted nor told of", async () => {
  const database = await openDatabase();
  await setQuota(database, 1n);
  await expect(
    within(database, async (tx) => {
      await countCapabilityUse(tx, { ...KEY, amount: 1, usedAt: "2026-12-15T12:00:00.000Z", event: {} });
      throw new Error("the receipt could not be written");
    }),
  ).rejects.toThrow("the receipt");
  expect((await readCapabilityUsage(database.pool, { ...KEY, period: "2026-12" })).used).toBe(0n);
  expect(await publishedEvents(database)).toEqual([]);
});

test("product code asks before it lets a plugin: up to the quota, this month, by the database's clock", async () => {
  const database = await openDatabase();
  const may = (amount?: bigint) => mayUseCapability(database.pool, { ...KEY, ...(amount === undefined ? {} : { amount }) });
  expect(await may(1_000_000n)).toBe(true);
  await setQuota(database, 10n);
  const { period } = await readCapabilityUsage(database.pool, KEY);
  const usedAt = `${period}-01T00:00:00Z`;
  await use(database, 8, { usedAt });
  await use(database, 500, { usedAt: "2020-01-01T00:00:00Z" });
  expect([await may(), await may(2n), await may(3n)]).toEqual([true, true, false]);
  await use(database, 2, { usedAt });
  expect(await may()).toBe(false);
  await setQuota(database, null);
  expect(await may(1_000_000n)).toBe(true);
});

test.each([
  ["a negative quota", { perMonth: -1n }],
  ["a quota beyond 64 bits", { perMonth: 2n ** 63n }],
  ["a plugin's name with a slash", { pluginId: "a/b" }],
  ["an empty capability", { capability: "" }],
])("%s is refused before any SQL", async (_what, change) => {
  const tx = { $executeRawUnsafe: () => Promise.reject(new Error("no SQL")), $queryRawUnsafe: () => Promise.reject(new Error("no SQL")) };
  await expect(setCapabilityQuota(tx, { ...KEY, perMonth: 1n, ...change })).rejects.toMatchObject({ code: "PLUGIN.ARGUMENT" });
});

test("a period that is no month is refused", async () => {
  const db = { query: () => Promise.reject(new Error("no SQL")) };
  await expect(readCapabilityUsage(db, { ...KEY, period: "2026-13" })).rejects.toMatchObject({ code: "PLUGIN.ARGUMENT" });
});
