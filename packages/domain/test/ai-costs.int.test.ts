import { randomUUID } from "node:crypto";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { createTestDatabase, type TestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aiCostFor, readAiCosts, recordAiCost, type AiCostDay, type AiCostRange, type AiCostSource } from "../src/ai-costs.ts";
import { rejection, rowsOf, WAITING } from "./support.ts";

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await createDatabase({ url: testDatabase.url, poolMax: 12, app: "cost-test", wakeup: false });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const DAY = "2027-03-01";
const RANGE = { from: "2027-01-01", to: "2027-12-31" };

interface Spent {
  amount: string;
  model?: string;
  currency?: string;
  inputTokens?: number;
  outputTokens?: number;
  recordedAt?: string;
}

function spend(spent: Spent, source: Partial<AiCostSource> = {}): Promise<boolean> {
  const { tenantId = "acme", eventId = randomUUID(), effectEpoch = 0, createdAt = `${DAY}T12:00:00.000Z` } = source;
  const payload = { model: "small", currency: "EUR", ...spent };
  const cost = aiCostFor({ eventId, type: "ai.cost.recorded", payload });
  return transaction(database.pool, (tx) => recordAiCost(tx, { tenantId, eventId, effectEpoch, createdAt }, cost));
}

/** The sums of a tenant as the ledger has them now, in the order of `readAiCosts`. */
async function sumsOfLedger(tenantId: string): Promise<unknown[]> {
  return rowsOf(
    database,
    `SELECT to_char(("recordedAt" AT TIME ZONE 'UTC')::date, 'YYYY-MM-DD') AS "day", "model", "currency",
       trim_scale(sum("amount"))::text AS "amount", count(*)::text AS "entries", (count(*) FILTER (WHERE "effectEpoch" > 0))::text AS "repeats",
       sum("inputTokens")::text AS "inputTokens", sum("outputTokens")::text AS "outputTokens"
     FROM "AiCostEntry" WHERE "tenantId" = $1 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    [tenantId],
  );
}

async function amounts(tenantId: string, range: Partial<AiCostRange> = {}): Promise<string[]> {
  const days = await readAiCosts(database.pool, { tenantId, ...RANGE, ...range });
  return days.map(({ day, model, amount, currency }) => `${day} ${model} ${amount} ${currency}`);
}

describe("the sums", () => {
  test("are exact where a double is not", async () => {
    const tenantId = randomUUID();
    for (const amount of ["0.1", "0.2", "0.000000000001", "-0.000000000001"]) await spend({ amount }, { tenantId });
    expect(await amounts(tenantId)).toEqual([`${DAY} small 0.3 EUR`]);
    const large = randomUUID();
    for (let n = 0; n < 3; n += 1) await spend({ amount: "999999999999.999999999999" }, { tenantId: large });
    expect(await amounts(large)).toEqual([`${DAY} small 2999999999999.999999999997 EUR`]);
  });

  test(
    "are the ledger's and the arithmetic's, whatever was spent at once and however often each event came",
    { timeout: 120_000 },
    async () => {
      // As many as 0.<12 digits> can tell apart, so that no rounding is hidden.
      const units = fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n });
      const spent = fc.record({
        units,
        model: fc.constantFrom("small", "large"),
        currency: fc.constantFrom("EUR", "USD"),
        inputTokens: fc.nat({ max: 1_000_000_000 }),
        recordedAt: fc.constantFrom(`${DAY}T00:00:00Z`, `${DAY}T23:59:59.999999Z`, `${DAY}T23:30:00-01:00`, undefined),
        epoch: fc.constantFrom(0, 0, 1),
        deliveries: fc.integer({ min: 1, max: 3 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(spent, { minLength: 1, maxLength: 30 }), async (events) => {
          const tenantId = randomUUID();
          const expected = new Map<string, bigint>();
          const deliveries = events.flatMap(({ units: amount, epoch, deliveries: times, recordedAt, ...rest }) => {
            const eventId = randomUUID();
            const key = `${recordedAt?.endsWith("-01:00") === true ? "2027-03-02" : DAY} ${rest.model} ${rest.currency}`;
            expected.set(key, (expected.get(key) ?? 0n) + amount);
            const entry = { ...rest, amount: decimalOf(amount), ...(recordedAt === undefined ? {} : { recordedAt }) };
            return Array.from({ length: times }, () => () => spend(entry, { tenantId, eventId, effectEpoch: epoch }));
          });
          await Promise.all(deliveries.map((deliver) => deliver()));
          const days = await readAiCosts(database.pool, { tenantId, ...RANGE });
          expect(days).toEqual(await sumsOfLedger(tenantId));
          expect(days.reduce((sum, { entries }) => sum + Number(entries), 0)).toBe(events.length);
          const sums = new Map(days.map(({ day, model, currency, amount }) => [`${day} ${model} ${currency}`, unitsOf(amount)]));
          expect(sums).toEqual(expected);
        }),
        { numRuns: 15 },
      );
    },
  );

  test("are by the day in UTC of the time that is named, or else of the event", async () => {
    const tenantId = randomUUID();
    await spend({ amount: "1", recordedAt: "2027-03-01T00:30:00+02:00" }, { tenantId });
    await spend({ amount: "2", recordedAt: "2027-03-01T23:59:59.999999Z" }, { tenantId });
    await spend({ amount: "4", recordedAt: "2027-03-01T22:00:00-02:00" }, { tenantId });
    await spend({ amount: "8" }, { tenantId, createdAt: "2027-03-02T23:59:59.999Z" });
    const session = await database.pool.connect();
    await session.query(`SET TIME ZONE 'Pacific/Kiritimati'`);
    const cost = aiCostFor({ eventId: "e", type: "ai.cost.recorded", payload: { model: "small", currency: "EUR", amount: "16" } });
    await recordAiCost(session, { tenantId, eventId: randomUUID(), effectEpoch: 0, createdAt: "2027-03-02T12:00:00Z" }, cost);
    session.release(true);
    expect(await amounts(tenantId)).toEqual(["2027-02-28 small 1 EUR", "2027-03-01 small 2 EUR", "2027-03-02 small 28 EUR"]);
  });

  test("are kept apart by tenant, model and currency", async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    await spend({ amount: "1" }, { tenantId: one });
    await spend({ amount: "2", currency: "USD" }, { tenantId: one });
    await spend({ amount: "4", model: "large" }, { tenantId: one });
    await spend({ amount: "8" }, { tenantId: other });
    expect(await amounts(one)).toEqual([`${DAY} large 4 EUR`, `${DAY} small 1 EUR`, `${DAY} small 2 USD`]);
    expect(await amounts(one, { model: "large" })).toEqual([`${DAY} large 4 EUR`]);
    expect(await amounts(other)).toEqual([`${DAY} small 8 EUR`]);
  });
});

describe("an entry", () => {
  test("is there once per event and epoch, and that of a deliberate repeat is counted as one", async () => {
    const tenantId = randomUUID();
    const eventId = randomUUID();
    const spent = { amount: "0.5", inputTokens: 3, outputTokens: 4 };
    expect(await spend(spent, { tenantId, eventId })).toBe(true);
    expect(await spend(spent, { tenantId, eventId })).toBe(false);
    expect(await spend(spent, { tenantId, eventId, effectEpoch: 1 })).toBe(true);
    expect(await spend(spent, { tenantId, eventId, effectEpoch: 1 })).toBe(false);
    const sums: AiCostDay = {
      day: DAY,
      model: "small",
      currency: "EUR",
      amount: "1",
      entries: "2",
      repeats: "1",
      inputTokens: "6",
      outputTokens: "8",
    };
    expect(await readAiCosts(database.pool, { tenantId, ...RANGE })).toEqual([sums]);
    expect(await sumsOfLedger(tenantId)).toEqual([sums]);
  });

  test("and its sum come and go together: of a transaction that rolls back neither is left", async () => {
    const tenantId = randomUUID();
    const cost = aiCostFor({ eventId: "e", type: "ai.cost.recorded", payload: { model: "small", currency: "EUR", amount: "1" } });
    const source = { tenantId, eventId: randomUUID(), effectEpoch: 0, createdAt: `${DAY}T00:00:00Z` };
    const failing = transaction(database.pool, async (tx: Queryable) => {
      await recordAiCost(tx, source, cost);
      throw new Error("after the sum");
    });
    await expect(failing).rejects.toThrow("after the sum");
    expect(await amounts(tenantId)).toEqual([]);
    expect(await sumsOfLedger(tenantId)).toEqual([]);
  });

  test("waits for the open transactions of its own day and model, and of no other", async () => {
    const tenantId = randomUUID();
    await spend({ amount: "1" }, { tenantId });
    const holder = await database.pool.connect();
    await holder.query(`BEGIN; SELECT 1 FROM "AiCostDay" WHERE "tenantId" = '${tenantId}' FOR UPDATE`);
    await spend({ amount: "1", model: "large" }, { tenantId });
    await spend({ amount: "1", recordedAt: "2027-03-09T00:00:00Z" }, { tenantId });
    await spend({ amount: "1", currency: "USD" }, { tenantId });
    await spend({ amount: "1" }, { tenantId: randomUUID() });
    const waiting = spend({ amount: "2" }, { tenantId });
    await waitFor(async () => (await rowsOf(database, WAITING)).length === 1, { what: "the entry to wait for its day" });
    await holder.query("COMMIT");
    holder.release();
    expect(await waiting).toBe(true);
    expect(await amounts(tenantId, { model: "small", to: DAY })).toEqual([`${DAY} small 3 EUR`, `${DAY} small 1 USD`]);
  });
});

describe("a range", () => {
  test("has its first and its last day in it", async () => {
    const tenantId = randomUUID();
    for (const day of ["2027-03-01", "2027-03-02", "2027-03-03"])
      await spend({ amount: "1", recordedAt: `${day}T12:00:00Z` }, { tenantId });
    expect(await amounts(tenantId, { from: "2027-03-01", to: "2027-03-02" })).toEqual(["2027-03-01 small 1 EUR", "2027-03-02 small 1 EUR"]);
  });

  test.each<[string, Partial<AiCostRange>]>([
    ["to", { from: "2027-03-02", to: "2027-03-01" }],
    ["to", { from: "2027-01-01", to: "2028-01-02" }],
    ["from", { from: "1.3.2027" }],
    ["to", { to: "2027-02-30" }],
    ["tenantId", { tenantId: "" }],
    ["model", { model: "" }],
  ])("is refused before any SQL, with its path: %s in %j", async (path, changes) => {
    const db: Queryable = { query: () => Promise.reject(new Error("expected no SQL")) };
    const error = await rejection(readAiCosts(db, { tenantId: "acme", ...RANGE, ...changes }));
    expect(error).toMatchObject({ code: "COST.ARGUMENT", facts: { paths: [path] } });
  });

  test("of 366 days is read, and one with more than 10,000 rows is refused instead of being cut", async () => {
    const tenantId = randomUUID();
    const fill = (from: number, to: number): Promise<unknown> =>
      database.pool.query(
        `INSERT INTO "AiCostDay" SELECT $1, DATE '2028-01-01' + n % 366, 'm' || n, 'EUR', 1, 1, 0, 0, 0 FROM generate_series($2::int, $3::int) n`,
        [tenantId, from, to],
      );
    const year = { tenantId, from: "2028-01-01", to: "2028-12-31" };
    await fill(1, 10_000);
    expect(await readAiCosts(database.pool, year)).toHaveLength(10_000);
    await fill(10_001, 10_001);
    expect(await rejection(readAiCosts(database.pool, year))).toMatchObject({ code: "COST.ARGUMENT", facts: { paths: ["to"] } });
  });
});

/** Units of 10⁻¹² as a decimal text. */
function decimalOf(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(13, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

function unitsOf(decimal: string): bigint {
  const [, sign, whole = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  const units = BigInt(whole + fraction.padEnd(12, "0"));
  return sign === "-" ? -units : units;
}
