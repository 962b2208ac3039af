import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import type { Database } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createBatchDispatcher, type BatchDispatcher } from "../../src/batch-dispatcher.ts";
import { createDrainerSlot, type Drainer, type DrainerSlot } from "../../src/switch/drainer-slot.ts";
import { countOpenClaims } from "../../src/switch/sql/count-open-claims.ts";
import { attemptsOf, claimOne, effectOf, gate, insertRecordEvents, mark, marks, openPull, workersOf } from "../pull/support.ts";
import { readEvents, SETTINGS, silentLog } from "../support.ts";

const LEASE_MS = 900;

async function isExpired({ pool }: Database, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(`SELECT 1 FROM "OutboxEvent" WHERE "id" = $1 AND "lockedUntil" < clock_timestamp()`, [id]);
  return rowCount === 1;
}

/** A slot that runs this drainer, whatever its mode. */
function slotOf(drainer: Drainer, leaveMs: number): DrainerSlot {
  return createDrainerSlot({ batch: () => drainer, pull: () => drainer }, { leaveMs, log: silentLog });
}

function dispatcherWith(database: Database, effects: readonly AfterSaveEffect[], settings: { leaseMs?: number } = {}): BatchDispatcher {
  const backend = { addAll: () => Promise.resolve([]), ping: () => Promise.resolve() };
  return createBatchDispatcher({
    pool: database.pool,
    router: createRouter(),
    backend,
    attempts: attemptsOf(database, effects, { backend, settings }),
    settings: { ...SETTINGS, ...settings },
    metrics: createMetrics({ processMetrics: false }),
    alerts: createAlerts({ app: "test", log: silentLog }),
    log: silentLog,
  });
}

test("a claim that is let go runs out while its attempt hangs, and one of another drainer is still prolonged", async () => {
  const database = await openPull();
  const hang = gate();
  const effect = effectOf(async (tx, event) => {
    await hang.opened;
    await mark(tx, event.id);
  });
  const attempts = attemptsOf(database, [effect], { settings: { leaseMs: LEASE_MS } });
  await insertRecordEvents(database, 1, { record: "1" });
  await insertRecordEvents(database, 1, { record: "2" });
  const [leaving, staying] = [new AbortController(), new AbortController()];
  const hung = await claimOne(database);
  const hanging = attempts.run(hung, { prolongUntil: leaving.signal });
  const other = await claimOne(database);
  const going = attempts.run(other, { prolongUntil: staying.signal });
  leaving.abort();
  await database.pool.query(`UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() + interval '900 milliseconds'`);
  await waitFor(() => isExpired(database, hung.id), { what: "the claim that was let go to run out" });
  await waitFor(async () => !(await isExpired(database, other.id)), { what: "the other drainer's claim to be prolonged" });
  hang.open();
  // Nobody took the event meanwhile: what its attempt did still counts.
  expect([(await hanging).fate, (await going).fate]).toEqual(["kept", "kept"]);
});

test.each(["batch", "pull"] as const)("an attempt of a drainer that is switched off (%s), and that hangs, is let go", async (mode) => {
  const database = await openPull();
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = $1, "desired" = $1`, [mode]);
  const [running, hang] = [gate(), gate()];
  const [id = ""] = await insertRecordEvents(database, 1);
  const effects = [effectOf(() => (running.open(), hang.opened))];
  const settings = { leaseMs: LEASE_MS, parallelism: 1 };
  const slot = slotOf(mode === "pull" ? workersOf(database, effects, { settings }) : dispatcherWith(database, effects, settings), 30);
  slot.run(mode);
  await running.opened;
  slot.run(null);
  await waitFor(() => isExpired(database, id), { what: "the claim to run out" });
  expect(await countOpenClaims(database.pool)).toMatchObject({ claims: 0 });
  hang.open();
  await slot.close(5_000);
});

test("an attempt that a pull worker begins after it was switched off, and that hangs, is let go like those that it had begun before", async () => {
  const database = await openPull();
  const [running, hang] = [gate(), gate()];
  const [id = ""] = await insertRecordEvents(database, 1);
  const effect = effectOf(() => (running.open(), hang.opened));
  const slot = slotOf(workersOf(database, [effect], { settings: { leaseMs: LEASE_MS, parallelism: 1 } }), 30);
  // A claim waits for this row, and so is under way when its drainer is switched off.
  const turning = await database.pool.connect();
  await turning.query("BEGIN");
  await turning.query(`SELECT FROM "OutboxMode" FOR UPDATE`);
  slot.run("pull");
  await waitFor(() => claimWaits(database), { what: "the claim to be under way" });
  slot.run(null);
  await turning.query("COMMIT");
  turning.release();
  await running.opened;
  await waitFor(() => isExpired(database, id), { what: "the claim to run out" });
  expect(await countOpenClaims(database.pool)).toMatchObject({ claims: 0 });
  hang.open();
  await slot.close(5_000);
});

test("a dispatcher that is switched off begins no attempt that waits in its lane, and gives those claims back", async () => {
  const database = await openPull();
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'batch', "desired" = 'batch'`);
  const [running, first] = [gate(), gate()];
  const ids = await insertRecordEvents(database, 3);
  const effect = effectOf(async (tx, event) => {
    running.open();
    await first.opened;
    await mark(tx, event.id);
  });
  const slot = slotOf(dispatcherWith(database, [effect]), 30_000);
  const due = await dueTimes(database);
  slot.run("batch");
  await running.opened;
  slot.run(null);
  first.open();
  await slot.close(5_000);
  const [done, ...back] = await readEvents(database);
  expect(done).toMatchObject({ id: ids[0], status: "DONE" });
  const untouched = { status: "PENDING", lockToken: null, retries: 0, crashes: 0, lastErrorCode: null };
  expect(back).toMatchObject([untouched, untouched]);
  expect(await dueTimes(database)).toEqual(due);
  expect(await marks(database)).toHaveLength(1);
});

async function claimWaits({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%"OutboxMode"%FOR SHARE%'`,
  );
  return rows.length > 0;
}

async function dueTimes({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query<{ at: string }>(`SELECT "scheduledAt"::text AS "at" FROM "OutboxEvent" ORDER BY "position"`);
  return rows.map((row) => row.at);
}
