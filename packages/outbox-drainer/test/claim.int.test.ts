import { randomUUID } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";
import { createRouter } from "@toolctrl/event-router/router";
import type pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { settleExhausted } from "../src/lines/settle-exhausted.ts";
import { claimDueEvents, type Claim } from "../src/sql/claim-due-events.ts";
import { reclaimExpiredEvent } from "../src/sql/reclaim-expired-event.ts";
import { settleEvents } from "../src/sql/settle-events.ts";
import { insertEvents, letTimePass, openDatabase, readEvents, statuses } from "./support.ts";

const request = (overrides: Partial<Parameters<typeof claimDueEvents>[1]> = {}) => ({
  epoch: 1n,
  limit: 100,
  leaseMs: 60_000,
  lockToken: randomUUID(),
  afterTenant: "",
  ...overrides,
});
const done = (claim: Claim) => claim.events.map(({ id, lockToken }) => ({ id, lockToken, outcome: "done" as const }));

describe("claim", () => {
  test("claiming one row claims one row under every join and aggregate plan", async () => {
    const database = await openDatabase();
    await insertEvents(database, 50);
    const session = await database.pool.connect();
    onTestFinished(() => session.release());
    const planners = [
      "enable_hashjoin",
      "enable_mergejoin",
      "enable_hashagg",
      "enable_sort",
      "enable_material",
      "enable_nestloop",
      "enable_indexscan",
    ];
    for (let mask = 0; mask < 2 ** planners.length; mask += 7) {
      for (const [bit, name] of planners.entries()) await session.query(`SET ${name} = ${(mask >> bit) & 1 ? "off" : "on"}`);
      const claim = await claimDueEvents(session, request({ limit: 1 }));
      expect(claim.events, `planner mask ${mask}`).toHaveLength(1);
      await settleEvents(session, done(claim));
    }
    await session.query("RESET ALL");
    expect((await statuses(database)).PROCESSING).toBeUndefined();
  });

  test("eight clients that claim and settle at once never get one event twice", async () => {
    const database = await openDatabase();
    await insertEvents(database, 3000);
    const times = new Map<string, number>();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let after = ""; ;) {
          const claim = await claimDueEvents(database.pool, request({ limit: 7, afterTenant: after }));
          if (claim.events.length === 0) return;
          after = claim.lastTenant;
          for (const { id } of claim.events) times.set(id, (times.get(id) ?? 0) + 1);
          expect((await settleEvents(database.pool, done(claim))).size).toBe(claim.events.length);
        }
      }),
    );
    expect(times.size).toBe(3000);
    expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
    const rows = await readEvents(database);
    expect(rows.filter((row) => row.attempts !== 1 || row.status !== "DONE")).toEqual([]);
  });

  test("an event that commits after a younger one is claimed by the next claim", async () => {
    const database = await openDatabase();
    const slow = await database.pool.connect();
    onTestFinished(() => slow.release());
    await slow.query("BEGIN");
    const first = randomUUID();
    await slow.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload") VALUES ($1, 'acme', 'mail.message.send', '{}')`,
      [first],
    );
    const [second] = await insertEvents(database, 1);
    const before = await claimDueEvents(database.pool, request());
    await settleEvents(database.pool, done(before));
    await slow.query("COMMIT");
    const after = await claimDueEvents(database.pool, request());
    expect(before.events.map((event) => event.id)).toEqual([second]);
    expect(after.events.map((event) => event.id)).toEqual([first]);
  });

  test("nothing is claimed under an old epoch, in another mode, or while a switch is under way", async () => {
    const database = await openDatabase();
    await insertEvents(database, 3);
    await database.pool.query(`UPDATE "OutboxMode" SET "epoch" = 2`);
    expect((await claimDueEvents(database.pool, request({ epoch: 1n }))).events).toEqual([]);
    await database.pool.query(`UPDATE "OutboxMode" SET "desired" = 'pull'`);
    expect((await claimDueEvents(database.pool, request({ epoch: 2n }))).events).toEqual([]);
    await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull'`);
    expect((await claimDueEvents(database.pool, request({ epoch: 2n }))).events).toEqual([]);
    await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'batch', "desired" = 'batch'`);
    expect((await claimDueEvents(database.pool, request({ epoch: 2n }))).events).toHaveLength(3);
  });

  test("a claim that waits for a switch to commit claims nothing afterwards", async () => {
    const database = await openDatabase();
    await insertEvents(database, 3);
    const switching = await database.pool.connect();
    onTestFinished(() => switching.release());
    await switching.query("BEGIN");
    await switching.query(`UPDATE "OutboxMode" SET "desired" = 'pull', "epoch" = "epoch" + 1`);
    const claiming = claimDueEvents(database.pool, request());
    await untilBlocked(database.pool);
    await switching.query("COMMIT");
    expect((await claiming).events).toEqual([]);
  });

  test("a tenant's burst leaves room for every other tenant in the same claim", async () => {
    const database = await openDatabase();
    await insertEvents(database, 500, { tenantId: "loud" });
    for (const tenantId of ["a", "m", "z"]) await insertEvents(database, 2, { tenantId });
    const claim = await claimDueEvents(database.pool, request({ limit: 20 }));
    const tenants = claim.events.map((event) => event.tenantId);
    for (const tenantId of ["a", "m", "z"]) expect(tenants.filter((tenant) => tenant === tenantId)).toHaveLength(2);
    expect(tenants.filter((tenant) => tenant === "loud")).toHaveLength(14);
    expect(claim.more).toBe(true);
  });

  test("with more tenants than room the walk goes on where it ended, and comes round to every tenant", async () => {
    const database = await openDatabase();
    for (let number = 0; number < 25; number += 1) await insertEvents(database, 4, { tenantId: `t${String(number).padStart(2, "0")}` });
    const served = new Set<string>();
    for (let round = 0, after = ""; round < 3; round += 1) {
      const claim = await claimDueEvents(database.pool, request({ limit: 10, afterTenant: after }));
      after = claim.lastTenant;
      for (const event of claim.events) served.add(event.tenantId);
    }
    expect(served.size).toBe(25);
  });

  test("a claim that comes back full says that there is more, whichever tenants filled it", async () => {
    const database = await openDatabase();
    for (const tenantId of ["a", "b", "c", "d"]) await insertEvents(database, 5, { tenantId });
    const full = await claimDueEvents(database.pool, request({ limit: 12 }));
    expect([full.events.length, full.more]).toEqual([12, true]);
    const rest = await claimDueEvents(database.pool, request({ limit: 12, afterTenant: full.lastTenant }));
    expect([rest.events.length, rest.more]).toEqual([8, false]);
  });

  test("many tenants whose events are not due do not hide the one whose event is", async () => {
    const database = await openDatabase();
    await database.pool.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "scheduledAt")
       SELECT gen_random_uuid(), 'later' || lpad(n::text, 5, '0'), 'mail.message.send', '{}', clock_timestamp() + interval '1 hour' FROM generate_series(1, 2500) n`,
    );
    const [due] = await insertEvents(database, 1, { tenantId: "zz" });
    const seen: string[] = [];
    for (let round = 0, after = ""; round < 3; round += 1) {
      const claim = await claimDueEvents(database.pool, request({ afterTenant: after }));
      after = claim.lastTenant;
      seen.push(...claim.events.map((event) => event.id));
    }
    expect(seen).toEqual([due]);
  });

  test("neither a claim nor a settle reads the whole table, however much history there is", async () => {
    const database = await openDatabase();
    await insertEvents(database, 20_000);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'DONE', "processedAt" = clock_timestamp(), "blocksLine" = false WHERE "position" % 10 > 0`,
    );
    await database.pool.query(`VACUUM (ANALYZE) "OutboxEvent"`);
    const plans: string[] = [];
    const explaining: Queryable = {
      async query(text, values) {
        const { rows } = await database.pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        return database.pool.query(text, values);
      },
    };
    for (const limit of [1, 100, 1000]) await settleEvents(explaining, done(await claimDueEvents(explaining, request({ limit }))));
    const mixed = done(await claimDueEvents(database.pool, request())).map((settlement, index) =>
      index === 0 ? { ...settlement, outcome: "dead" as const, errorCode: "X", error: "x" } : settlement,
    );
    await settleEvents(explaining, mixed);
    expect(plans.filter((plan) => plan.includes('Seq Scan on "OutboxEvent"'))).toEqual([]);
    expect(plans).toHaveLength(7);
  });

  test("a future event is left alone, and a payload above the inline limit stays in the row", async () => {
    const database = await openDatabase();
    await insertEvents(database, 1, { delay: "1 hour" });
    await insertEvents(database, 1, { payload: { text: "x".repeat(70_000) } });
    const claim = await claimDueEvents(database.pool, request());
    expect(claim.events).toHaveLength(1);
    expect(claim.events[0]).toMatchObject({ inline: false, payload: null });
  });
});

describe("fence and lease", () => {
  test("a zombie's settle changes nothing once another claim owns the event", async () => {
    const database = await openDatabase();
    await insertEvents(database, 1);
    const zombie = await claimDueEvents(database.pool, request());
    await letTimePass(database);
    const owner = await reclaimExpiredEvent(database.pool, { epoch: 1n, crashBudget: 6, leaseMs: 60_000, lockToken: randomUUID() });
    if (owner.kind !== "claimed") throw new Error(`expected a claim, got ${owner.kind}`);
    const lateFailure = zombie.events.map(({ id, lockToken }) => ({
      id,
      lockToken,
      outcome: "dead" as const,
      errorCode: "X",
      error: "late",
    }));
    expect(await settleEvents(database.pool, lateFailure)).toEqual(new Set());
    await settleEvents(database.pool, [{ id: owner.event.id, lockToken: owner.event.lockToken, outcome: "done" }]);
    expect(await settleEvents(database.pool, lateFailure)).toEqual(new Set());
    expect((await readEvents(database))[0]).toMatchObject({ status: "DONE", attempts: 2, retries: 0, lastErrorCode: null });
  });

  test("a live lease is never reclaimed, whatever the clock of the process says", async () => {
    const database = await openDatabase();
    await insertEvents(database, 2);
    await claimDueEvents(database.pool, request({ limit: 1, leaseMs: 60_000 }));
    const realNow = Date.now;
    Date.now = () => realNow() + 600_000;
    onTestFinished(() => void (Date.now = realNow));
    expect(await reclaimExpiredEvent(database.pool, { epoch: 1n, crashBudget: 6, leaseMs: 1, lockToken: randomUUID() })).toEqual({
      kind: "none",
    });
  });

  test("leases lost in a batch cost nothing; leases lost alone use up the crash budget and end in FAILED", async () => {
    const database = await openDatabase();
    await insertEvents(database, 3);
    await claimDueEvents(database.pool, request());
    await letTimePass(database);
    const reclaim = () => reclaimExpiredEvent(database.pool, { epoch: 1n, crashBudget: 2, leaseMs: 60_000, lockToken: randomUUID() });
    const first = await reclaim();
    if (first.kind !== "claimed") throw new Error(`expected a claim, got ${first.kind}`);
    expect(first.event).toMatchObject({ crashes: 0, attempts: 2 });
    // The neighbours are settled; the first one kills its process each time.
    for (let other = 0; other < 2; other += 1) {
      const next = await reclaim();
      if (next.kind === "claimed")
        await settleEvents(database.pool, [{ id: next.event.id, lockToken: next.event.lockToken, outcome: "done" }]);
    }
    await letTimePass(database);
    expect(await reclaim()).toMatchObject({ kind: "claimed", event: { id: first.event.id, crashes: 1, attempts: 3 } });
    await letTimePass(database);
    const last = await reclaim();
    if (last.kind !== "exhausted") throw new Error(`expected an exhausted event, got ${last.kind}`);
    await settleEvents(database.pool, [settleExhausted(last.event, createRouter())]);
    expect(await readEvents(database, [first.event.id])).toMatchObject([
      { status: "FAILED", crashes: 2, attempts: 3, retries: 0, lastErrorCode: "DB.LEASE_LOST" },
    ]);
    expect(await statuses(database)).toEqual({ DONE: 2, FAILED: 1 });
  });

  test("settling nothing is no statement, and a thousand claims are settled in one", async () => {
    const database = await openDatabase();
    await insertEvents(database, 1000);
    expect(await settleEvents(database.pool, [])).toEqual(new Set());
    const claim = await claimDueEvents(database.pool, request({ limit: 1000 }));
    expect((await settleEvents(database.pool, done(claim))).size).toBe(1000);
  });
});

/** Waits until some session of this database waits for a lock. */
async function untilBlocked(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if ((rows[0]?.n ?? 0) > 0) return;
  }
}
