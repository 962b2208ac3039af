import { randomUUID } from "node:crypto";
import { waitFor } from "@toolctrl/testkit/wait";
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Database } from "../src/client.ts";
import { migrate, verifySchema } from "../src/migrate.ts";
import { publishOutboxEvent, publishOutboxEvents, type OutboxEventInput } from "../src/outbox.ts";
import { backfillRecordKeys, recordKeyReady } from "../src/record-key.ts";
import { createLegacyDatabase, OLD_INSERT, openAt } from "./legacy-database.ts";
import { gate, openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const about = (recordId: string): OutboxEventInput => ({
  tenantId: TENANT,
  type: "shop.lead.updated",
  payload: { object: "Lead", recordId },
});
const publish = (db: Database, event: OutboxEventInput) => db.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
const ALL_KEYED = `SELECT count(*)::int AS "events", count(*) FILTER (WHERE "recordKey" = "outboxRecordKey"("payload", "id"))::int AS "derived",
  count(*) FILTER (WHERE "recordKey" = 'Order/1')::int AS "given", count(*) FILTER (WHERE "recordKey" IS NULL)::int AS "missing" FROM "OutboxEvent"`;

/** The statements of a Prisma transaction, as they pass. */
async function statementsOf(db: Database, event: OutboxEventInput): Promise<string[]> {
  const seen: string[] = [];
  await db.prisma.$transaction((tx) =>
    publishOutboxEvent(
      new Proxy(tx, {
        get(target, name) {
          if (name !== "$executeRawUnsafe" && name !== "$queryRawUnsafe") return Reflect.get(target, name) as unknown;
          return (sql: string, ...values: unknown[]) => {
            seen.push(sql);
            return target[name](sql, ...values);
          };
        },
      }),
      event,
    ),
  );
  return seen;
}

test("on a database without the column publishing goes on with the columns it has, alone and in a list", async () => {
  const db = await openAt(await createLegacyDatabase());
  expect(await recordKeyReady(db.pool)).toEqual({ column: false, constraint: false, validated: false, indexes: false });
  await db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, about("1"));
    await publishOutboxEvent(tx, { ...about("1"), correlationId: "c" });
    await publishOutboxEvents(tx, [about("1"), { tenantId: TENANT, type: "shop.order.place", payload: {}, recordKey: "Order/1" }]);
  });
  expect(await rowsOf(db, `SELECT count(*)::int AS "rows" FROM "OutboxEvent"`)).toEqual([{ rows: 4 }]);
});

test("the catalogue is asked once where the column is there, and again after a while where it is not", async () => {
  const there = await openDatabase();
  const isQuestion = (sql: string): boolean => sql.includes("pg_attribute");
  expect((await statementsOf(there, about("1"))).filter(isQuestion)).toHaveLength(1);
  expect((await statementsOf(there, about("1"))).filter(isQuestion)).toHaveLength(0);

  const url = await createLegacyDatabase();
  const absent = await openAt(url);
  expect((await statementsOf(absent, about("1"))).filter(isQuestion)).toHaveLength(1);
  expect((await statementsOf(absent, about("1"))).filter(isQuestion)).toHaveLength(0);
  await migrate({ url });
  // The answer is old; the trigger makes up for it where it can, and where it cannot the catalogue is asked at once.
  expect(await statementsOf(absent, about("1"))).toHaveLength(1);
  const given = { tenantId: TENANT, type: "shop.order.place", payload: {}, recordKey: "Order/1" };
  expect((await statementsOf(absent, given)).filter(isQuestion)).toHaveLength(1);
  expect((await statementsOf(absent, about("1"))).filter(isQuestion)).toHaveLength(0);

  const later = await openAt(await createLegacyDatabase());
  expect((await statementsOf(later, about("1"))).filter(isQuestion)).toHaveLength(1);
  const now = performance.now() + 30_001;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  expect((await statementsOf(later, about("1"))).filter(isQuestion)).toHaveLength(1);
  expect((await statementsOf(later, about("1"))).filter(isQuestion)).toHaveLength(0);
  clock.mockRestore();
  await backfillRecordKeys(absent.pool, { actor: "test" });
  expect(await rowsOf(absent, ALL_KEYED)).toEqual([{ events: 5, derived: 4, given: 1, missing: 0 }]);
});

test("when the column is gone against all promises, one publish fails and the next one asks again", async () => {
  const db = await openDatabase();
  await publish(db, about("1"));
  await db.pool.query(
    `ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey" CASCADE; DROP TRIGGER IF EXISTS "OutboxEvent_recordKey" ON "OutboxEvent"`,
  );
  await rejection(publish(db, about("2")));
  await publish(db, about("3"));
  expect(await rowsOf(db, `SELECT "payload" ->> 'recordId' AS "id" FROM "OutboxEvent" ORDER BY "position"`)).toEqual([
    { id: "1" },
    { id: "3" },
  ]);
});

test("publishers of both versions and a drainer go on through migration and backfill: none fails, every event ends with its key", async () => {
  const url = await createLegacyDatabase();
  const admin = await openAt(url, { poolMax: 3 });
  await seedOld(admin, 2_500);
  const stop = gate();
  let stopped = false;
  void stop.opened.then(() => (stopped = true));
  const counts = { old: 0, new: 0, drained: 0 };
  const loop = async (work: () => Promise<void>): Promise<void> => {
    while (!stopped) await work();
  };
  const runs = [
    ...(await Promise.all([1, 2].map(() => oldPublisher(url)))).map((insert) => loop(() => insert(counts))),
    ...(await Promise.all([1, 2].map(() => openAt(url, { poolMax: 1 })))).map((db) => loop(() => newPublisher(db, counts))),
    loop(() => oldDrainer(admin, counts)),
  ];
  const grown = (since: typeof counts) =>
    waitFor(() => counts.old > since.old + 20 && counts.new > since.new + 20 && counts.drained > since.drained + 5, {
      what: "all to go on",
    });
  const work = (async () => {
    await grown({ ...counts });
    await migrate({ url });
    await grown({ ...counts });
    // A process that starts after the migration writes the column itself.
    const late = await openAt(url, { poolMax: 1 });
    runs.push(loop(() => newPublisher(late, counts)));
    const report = await backfillRecordKeys(admin.pool, { actor: "test", batchSize: 100 });
    await grown({ ...counts });
    return report;
  })().finally(stop.open);
  const [report] = await Promise.all([work, ...runs]);
  await Promise.all(runs);

  expect(report).toMatchObject({ column: true, validated: true, interrupted: false });
  expect(report.keyed).toBeGreaterThan(2_000);
  expect(await recordKeyReady(admin.pool)).toEqual({ column: true, constraint: true, validated: true, indexes: true });
  const [sums] = await rowsOf(admin, ALL_KEYED);
  expect(sums).toEqual({ events: 2_500 + counts.old + counts.new, derived: 2_500 + counts.old + counts.new, given: 0, missing: 0 });
  await verifySchema({ url });
});

/** Rows of the old version in every state, some without a record. */
async function seedOld(db: Database, count: number): Promise<void> {
  await db.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "processedAt", "lastErrorCode", "updatedAt")
     SELECT gen_random_uuid(), 'tenant-' || n % 5, 'shop.lead.updated',
       CASE WHEN n % 4 = 0 THEN '{}' ELSE jsonb_build_object('object', 'Lead', 'recordId', (n % 50)::text) END,
       s::"OutboxStatus", s = 'PENDING', CASE s WHEN 'DONE' THEN now() END, CASE s WHEN 'FAILED' THEN 'X' END, '2020-01-01'
     FROM generate_series(1, $1::int) n, LATERAL (SELECT (ARRAY['PENDING', 'DONE', 'FAILED', 'CANCELLED'])[1 + n % 4]) x(s)`,
    [count],
  );
}

async function oldPublisher(url: string): Promise<(counts: { old: number }) => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return async (counts) => {
    const payload = JSON.stringify({ object: "Lead", recordId: String(Math.floor(Math.random() * 50)) });
    await client.query("BEGIN");
    const { rowCount } = await client.query({
      name: "old",
      text: OLD_INSERT,
      values: [randomUUID(), "tenant-a", "shop.lead.updated", 1, payload, null],
    });
    await client.query("COMMIT");
    counts.old += rowCount ?? 0;
  };
}

async function newPublisher(db: Database, counts: { new: number }): Promise<void> {
  const recordId = String(Math.floor(Math.random() * 50));
  await publish(db, about(recordId));
  await db.prisma.$transaction((tx) => publishOutboxEvents(tx, [about(recordId), { ...about("x"), payload: { n: 1 } }]));
  counts.new += 3;
}

/** Claims and settles as the old version does, which knows no record key. */
async function oldDrainer(db: Database, counts: { drained: number }): Promise<void> {
  const claimed = await db.pool.query<{ id: string }>(
    `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'batch', "lockToken" = gen_random_uuid(), "lockedUntil" = now() + interval '1 minute'
     WHERE "id" = (SELECT "id" FROM "OutboxEvent" WHERE "status" = 'PENDING' ORDER BY "position" LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING "id"`,
  );
  const settled = await db.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'DONE', "blocksLine" = false, "processedAt" = now(), "claimMode" = NULL, "lockToken" = NULL, "lockedUntil" = NULL
     WHERE "id" = ANY ($1::uuid[])`,
    [claimed.rows.map((row) => row.id)],
  );
  counts.drained += settled.rowCount ?? 0;
}
