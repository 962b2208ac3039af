import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { transaction, type Database } from "../src/client.ts";
import { migrate, verifySchema } from "../src/migrate.ts";
import { backfillRecordKeys, countRecordKeys, recordKeyReady } from "../src/record-key.ts";
import { createPool } from "../src/pool.ts";
import { CONNECTION_LIMITS } from "../src/pool-config.ts";
import { createLegacyDatabase, openAt } from "./legacy-database.ts";
import { gate, openDatabase, rejection, rowsOf } from "./support.ts";

const MISSING = `SELECT count(*)::int AS "missing" FROM "OutboxEvent" WHERE "recordKey" IS NULL`;

/** A migrated database whose events are from before: 300 rows, a third of them without a record, one with the lowest id there is. */
async function oldEvents(): Promise<{ url: string; db: Database }> {
  const url = await createLegacyDatabase();
  const db = await openAt(url);
  await db.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "updatedAt")
     SELECT lpad(to_hex(n), 32, '0')::uuid, 't', 'a.b.c', CASE WHEN n % 3 = 0 THEN '{"n": 1}' ELSE jsonb_build_object('object', 'Lead', 'recordId', n::text) END,
       '2020-01-01' FROM generate_series(0, 299) n`,
  );
  await migrate({ url });
  return { url, db };
}

test("a new installation has nothing to backfill, and a database without the column is left as it is", async () => {
  const fresh = await openDatabase();
  const nothing = { keyed: 0, interrupted: false, actionId: null };
  expect(await recordKeyReady(fresh.pool)).toEqual({ column: true, constraint: true, validated: true, indexes: true });
  expect(await backfillRecordKeys(fresh.pool, { actor: "ann" })).toEqual({ column: true, validated: true, ...nothing });
  const legacy = await openAt(await createLegacyDatabase());
  expect(await backfillRecordKeys(legacy.pool, { actor: "ann" })).toEqual({ column: false, validated: false, ...nothing });
  for (const db of [fresh, legacy]) expect(await rowsOf(db, `SELECT 1 FROM "OutboxAction"`)).toEqual([]);
});

test("every old event gets its key in batches, nothing else of it changes, and the constraint is validated", async () => {
  const { url, db } = await oldEvents();
  expect(await recordKeyReady(db.pool)).toEqual({ column: true, constraint: true, validated: false, indexes: true });
  expect(await countRecordKeys(db.pool)).toEqual({ events: 300, missing: 300, withoutRecord: 100 });
  const batches: number[] = [];
  const report = await backfillRecordKeys(db.pool, {
    actor: "ann",
    reason: "upgrade",
    batchSize: 70,
    onBatch: (keyed) => batches.push(keyed),
  });
  expect(report).toMatchObject({ column: true, keyed: 300, validated: true, interrupted: false });
  expect(batches).toEqual([70, 140, 210, 280, 299, 300]);
  expect(await recordKeyReady(db.pool)).toEqual({ column: true, constraint: true, validated: true, indexes: true });
  const [sums] = await rowsOf(
    db,
    `SELECT count(*) FILTER (WHERE "recordKey" = "id"::text)::int AS "own", count(*) FILTER (WHERE "recordKey" = 'Lead/' || ("payload" ->> 'recordId'))::int AS "lead",
       count(*) FILTER (WHERE "updatedAt" = '2020-01-01Z')::int AS "untouched" FROM "OutboxEvent"`,
  );
  expect(sums).toEqual({ own: 100, lead: 200, untouched: 300 });
  expect(await rowsOf(db, `SELECT "id", "actor", "action", "reason", "affected" FROM "OutboxAction"`)).toEqual([
    { id: report.actionId, actor: "ann", action: "backfill-record-key", reason: "upgrade", affected: 300 },
  ]);
  await verifySchema({ url });
  expect(await backfillRecordKeys(db.pool, { actor: "ann" })).toMatchObject({ keyed: 0, actionId: null });
});

test("a backfill that ends midway, by a signal or with its connection, is followed by one that does the rest", async () => {
  const { db, url } = await oldEvents();
  const interrupt = new AbortController();
  const first = await backfillRecordKeys(db.pool, {
    actor: "ann",
    batchSize: 50,
    signal: interrupt.signal,
    onBatch: (keyed) => keyed >= 100 && interrupt.abort(),
  });
  expect(first).toMatchObject({ keyed: 100, validated: false, interrupted: true });
  expect(await recordKeyReady(db.pool)).toMatchObject({ validated: false });

  const broken = await openAt(url, { poolMax: 1 });
  const killed = rejection(
    backfillRecordKeys(broken.pool, { actor: "bob", batchSize: 50, onBatch: (keyed) => void (keyed >= 100 && broken.close(0)) }),
  );
  expect(await killed).toBeInstanceOf(Error);
  const [left] = await rowsOf(db, MISSING);
  expect([50, 100]).toContain(left?.["missing"]);
  expect(await backfillRecordKeys(db.pool, { actor: "ann" })).toMatchObject({ keyed: left?.["missing"], validated: true });
  const [sum] = await rowsOf(db, `SELECT sum("affected")::int AS "affected" FROM "OutboxAction"`);
  expect(sum).toEqual({ affected: 300 });
});

test("a row that somebody holds is passed by and keyed at the end; one that stays held ends the run with its name", async () => {
  const { db, url } = await oldEvents();
  const impatient = createPool({
    url,
    max: 1,
    app: "test",
    limits: { ...CONNECTION_LIMITS, connectTimeoutMs: 3_000, lockTimeoutMs: 100 },
  });
  onTestFinished(() => impatient.endWithin(0));
  const id = "00000000-0000-0000-0000-000000000007";
  const holding = gate();
  const end = gate();
  const holder = transaction(db.pool, async (tx) => {
    await tx.query(`SELECT 1 FROM "OutboxEvent" WHERE "id" = $1 FOR UPDATE`, [id]);
    holding.open();
    await end.opened;
  });
  await holding.opened;
  expect(await rejection(backfillRecordKeys(impatient, { actor: "ann" }))).toMatchObject({ code: "DB.ROW_LOCKED", facts: { eventId: id } });
  expect(await rowsOf(db, MISSING)).toEqual([{ missing: 1 }]);
  const patient = backfillRecordKeys(db.pool, { actor: "ann" });
  await waitFor(
    async () => (await rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)).length,
    { what: "the backfill to wait for the row" },
  );
  end.open();
  await holder;
  expect(await patient).toMatchObject({ keyed: 1, validated: true });
});

test("two backfills at once key each event once and both end with a validated constraint", async () => {
  const { db } = await oldEvents();
  const reports = await Promise.all(["ann", "bob"].map((actor) => backfillRecordKeys(db.pool, { actor, batchSize: 20 })));
  expect(reports.map((report) => report.validated)).toEqual([true, true]);
  expect(reports.reduce((sum, report) => sum + report.keyed, 0)).toBe(300);
});

test("without its constraint nothing is backfilled, and the error says how to restore it", async () => {
  const db = await openDatabase();
  await db.pool.query(`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check"`);
  expect(await recordKeyReady(db.pool)).toMatchObject({ constraint: false, validated: false });
  expect(await rejection(backfillRecordKeys(db.pool, { actor: "me" }))).toMatchObject({
    code: "MIGRATE.VERIFY",
    message: expect.stringContaining(`ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK (("recordKey" IS NOT NULL)) NOT VALID;`),
  });
});
