import type { Queryable } from "@toolctrl/db/sql";
import { describe, expect, onTestFinished, test } from "vitest";
import { countBlockedLines } from "../../src/lines/count-blocked-lines.ts";
import { readDueEvents } from "../../src/lines/due-events.ts";
import { listBlockedLines } from "../../src/lines/list-blocked-lines.ts";
import { openDatabase } from "../support.ts";
import { seedLine } from "./seed-line.ts";

const EVERY = { tenantId: null, limit: 50 };

describe("blocked lines", () => {
  test("are those with somebody waiting behind a parked, held, failing or claimed head, each with its cause, head, age and depth", async () => {
    const { pool } = await openDatabase();
    const [parked] = await seedLine(pool, "parked", ["done", "dead", "parked", "due", "due"]).then((ids) => ids.slice(2));
    const [held] = await seedLine(pool, "held", ["held", "due", "held"]);
    const [backoff] = await seedLine(pool, "backoff", ["backoff", "due"]);
    const [flying] = await seedLine(pool, "flying", ["in-flight", "due", "due", "due"]);
    const [expired] = await seedLine(pool, "expired", ["expired", "due"]);
    const [alone] = await seedLine(pool, "alone", ["parked"]);
    const { lines, partial } = await listBlockedLines(pool, EVERY);
    expect(partial).toBe(false);
    expect(lines.map(({ recordKey, cause, headId, depth }) => [recordKey, cause, headId, depth])).toEqual([
      ["Lead/parked", "parked", parked, 2],
      ["Lead/held", "held", held, 2],
      ["Lead/backoff", "backoff", backoff, 1],
      ["Lead/flying", "in-flight", flying, 3],
      ["Lead/expired", "in-flight", expired, 1],
      ["Lead/alone", "parked", alone, 0],
    ]);
    expect(lines.every(({ ageSeconds }) => ageSeconds >= 60)).toBe(true);
    expect(lines.map(({ until }) => until !== null)).toEqual([false, false, true, true, true, false]);
    expect(await countBlockedLines(pool)).toEqual({ parked: 2, held: 1, backoff: 1, "in-flight": 2 });
  });

  test("are not those whose head is due, is alone, or has failed without parking", async () => {
    const { pool } = await openDatabase();
    await seedLine(pool, "due", ["due", "due", "due"]);
    await seedLine(pool, "lonely", ["backoff"]);
    await seedLine(pool, "claimed", ["in-flight"]);
    await seedLine(pool, "alone", ["held"]);
    await seedLine(pool, "continued", ["dead", "due", "due"]);
    expect(await listBlockedLines(pool, EVERY)).toEqual({ mode: "batch", keyed: true, lines: [], partial: false });
    expect(await countBlockedLines(pool)).toEqual({ parked: 0, held: 0, backoff: 0, "in-flight": 0 });
  });

  test("name the event in flight when an older one was requeued behind its back", async () => {
    const { pool } = await openDatabase();
    const [requeued] = await seedLine(pool, "x", ["due", "in-flight", "due"]);
    expect((await listBlockedLines(pool, EVERY)).lines).toMatchObject([{ cause: "in-flight", headId: requeued, depth: 2 }]);
  });

  test("keep to a tenant and a limit, and say when there are more", async () => {
    const { pool } = await openDatabase();
    for (const tenantId of ["acme", "globex"]) await seedLine(pool, "1", ["backoff", "due"], { tenantId });
    expect((await listBlockedLines(pool, { tenantId: "globex", limit: 50 })).lines.map((line) => line.tenantId)).toEqual(["globex"]);
    const one = await listBlockedLines(pool, { tenantId: null, limit: 1 });
    expect([one.lines.length, one.partial]).toEqual([1, true]);
  });

  test("are found without reading the backlog: of 50,000 waiting events few rows are looked at", async () => {
    const { pool } = await openDatabase();
    await pool.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload")
       SELECT gen_random_uuid(), 'acme', 'record.lead.updated', jsonb_build_object('object', 'Lead', 'recordId', (n % 5000)::text) FROM generate_series(1, 50000) n`,
    );
    await seedLine(pool, "parked", ["parked", "due"]);
    await pool.query("VACUUM ANALYZE");
    const session = await pool.connect();
    onTestFinished(() => session.release());
    const start = await rowsRead(session);
    expect((await listBlockedLines(session, EVERY)).lines).toHaveLength(1);
    const looked = await rowsRead(session);
    await session.query(`SELECT count("payload") FROM "OutboxEvent"`);
    expect(looked - start).toBeLessThan(1000);
    expect((await rowsRead(session)) - looked).toBeGreaterThan(50_000);
  });

  test("are none, without an error, on a table that has no record keys yet", async () => {
    const { pool } = await openDatabase();
    await pool.query(`DROP TRIGGER "OutboxEvent_recordKey" ON "OutboxEvent"; ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey"`);
    expect(await listBlockedLines(pool, EVERY)).toEqual({ mode: "batch", keyed: false, lines: [], partial: false });
    expect(await countBlockedLines(pool)).toEqual({ parked: 0, held: 0, backoff: 0, "in-flight": 0 });
    await seedLine(pool, "x", ["parked", "due"]);
    expect(await readDueEvents(pool)).toMatchObject({ due: 1, overdue: 1 });
  });
});

/** Rows of the table that scans have read, live or dead, by sequence or by index. */
async function rowsRead(session: Queryable): Promise<number> {
  // A session reports what it did when it is idle for a moment, or is told to.
  await session.query("SELECT pg_stat_force_next_flush()");
  const { rows } = await session.query<{ n: string }>(
    `SELECT (seq_tup_read + COALESCE(idx_tup_fetch, 0))::text AS n FROM pg_stat_user_tables WHERE relname = 'OutboxEvent'`,
  );
  return Number(rows[0]?.n);
}

describe("late events", () => {
  test("are due ones, but under pull workers for those behind a head that is parked, held or in backoff: one parked record hides no other that nobody takes", async () => {
    const { pool } = await openDatabase();
    await pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
    for (const state of ["parked", "held", "backoff"] as const) await seedLine(pool, state, [state, "due", "due"]);
    expect(await readDueEvents(pool)).toEqual({ due: 6, overdue: 0, oldestSeconds: 0 });
    await seedLine(pool, "parked", ["parked", "due"], { tenantId: "globex" });
    await seedLine(pool, "flying", ["in-flight", "due"]);
    await seedLine(pool, "due", ["due", "due"]);
    const { due, overdue, oldestSeconds } = await readDueEvents(pool);
    expect(due).toBe(10);
    expect(overdue).toBe(3);
    expect(oldestSeconds).toBeGreaterThanOrEqual(60);
  });

  test("are all due ones while the batch dispatcher drains, which waits for no head; no line is then looked at", async () => {
    const { pool } = await openDatabase();
    for (const state of ["parked", "held", "backoff"] as const) await seedLine(pool, state, [state, "due", "due"]);
    const { due, overdue, oldestSeconds } = await readDueEvents(pool);
    expect({ due, overdue }).toEqual({ due: 6, overdue: 6 });
    expect(oldestSeconds).toBeGreaterThanOrEqual(60);
    const asked: string[] = [];
    await readDueEvents({ query: (text, values) => (asked.push(text), pool.query(text, values)) });
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN (ANALYZE, COSTS OFF) ${asked.at(-1)}`, [null]);
    const heads = rows.map((row) => row["QUERY PLAN"]).filter((line) => line.includes("CTE Scan on lines"));
    expect(heads).toEqual([expect.stringContaining("never executed")]);
  });
});
