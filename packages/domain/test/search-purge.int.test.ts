import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { purgeDeletedDocuments } from "../src/search.ts";
import { remove, TENANT, upsert } from "./search-support.ts";
import { openDatabase, rowsOf } from "./support.ts";

const settings = { retentionHours: 24, batchSize: 1000 };

/** Publishes an upsert of a record; its position. */
async function publish(database: Database, recordId: string, { tenantId = TENANT, collection = "lead" } = {}): Promise<number> {
  const payload = { collection, recordId, title: "Title" };
  const { id } = await database.prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type: "search.index.upsert", payload }));
  const [row] = await rowsOf(database, `SELECT "position"::int AS "position" FROM "OutboxEvent" WHERE "id" = $1`, [id]);
  return Number(row?.["position"]);
}

/** Lets time pass for what was deleted. */
function age(database: Database, hours = 48): Promise<unknown> {
  return database.pool.query(`UPDATE "SearchDocument" SET "deletedAt" = "deletedAt" - $1::float8 * interval '1 hour'`, [hours]);
}

/** Purges until so many are gone; what the last run kept. The server's own housekeeping may hold rows back for a moment. */
async function purgeUntilGone(database: Database, expected: number, batchSize = settings.batchSize): Promise<number> {
  let purged = 0;
  await waitFor(
    async () => {
      purged += (await purgeDeletedDocuments(database.pool, { ...settings, batchSize })).purged;
      return purged >= expected;
    },
    { what: `${expected} rows to be purged` },
  );
  const last = await purgeDeletedDocuments(database.pool, settings);
  expect(purged + last.purged).toBe(expected);
  return last.kept;
}

async function leftIn(database: Database): Promise<unknown[]> {
  const rows = await rowsOf(database, `SELECT "recordId" FROM "SearchDocument" ORDER BY 1`);
  return rows.map(({ recordId }) => recordId);
}

describe("what a deleted record has left is removed", () => {
  test("when it is old; what is young or not deleted stays", async () => {
    const database = await openDatabase();
    await remove(database, { recordId: "old", position: 10 });
    await age(database);
    await remove(database, { recordId: "young", position: 11 });
    await upsert(database, { recordId: "live", position: 12 });
    expect(await purgeUntilGone(database, 1)).toBe(0);
    expect(await leftIn(database)).toEqual(["live", "young"]);
  });

  test("not while an older upsert of the record is there, in whatever state: somebody might requeue it", async () => {
    const database = await openDatabase();
    const states = {
      PENDING: "",
      PROCESSING: `, "lockedUntil" = now(), "lockToken" = gen_random_uuid(), "claimMode" = 'batch'`,
      DONE: `, "processedAt" = now(), "blocksLine" = false`,
      FAILED: `, "lastErrorCode" = 'X'`,
      CANCELLED: `, "blocksLine" = false`,
    };
    for (const [state, columns] of Object.entries(states)) {
      const position = await publish(database, state);
      await database.pool.query(`UPDATE "OutboxEvent" SET "status" = '${state}'${columns} WHERE "position" = $1`, [position]);
      await remove(database, { recordId: state, position: position + 1 });
    }
    await age(database);
    expect(await purgeDeletedDocuments(database.pool, settings)).toEqual({ purged: 0, kept: 5 });
    await database.pool.query(`DELETE FROM "OutboxEvent"`);
    expect(await purgeUntilGone(database, 5)).toBe(0);
  });

  test("whatever there is of other records, other tenants, other collections, and of younger events of its own", async () => {
    const database = await openDatabase();
    await publish(database, "other");
    await publish(database, "1", { tenantId: "somebody" });
    await publish(database, "1", { collection: "order" });
    await remove(database, { recordId: "1", position: 100 });
    await database.pool.query(`SELECT setval(pg_get_serial_sequence('"OutboxEvent"', 'position'), 200)`);
    await publish(database, "1");
    await age(database);
    expect(await purgeUntilGone(database, 1)).toBe(0);
  });

  test("not while a transaction is open that was so when the record was deleted: it may yet commit an older upsert", async () => {
    const database = await openDatabase();
    const publisher = await database.pool.connect();
    await publisher.query("BEGIN");
    await publisher.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload") VALUES (gen_random_uuid(), $1, 'search.index.upsert',
         '{"collection": "lead", "recordId": "1", "title": "late"}')`,
      [TENANT],
    );
    await remove(database, { recordId: "1", position: 1000 });
    await age(database);
    expect(await purgeDeletedDocuments(database.pool, settings)).toEqual({ purged: 0, kept: 1 });
    await publisher.query("COMMIT");
    publisher.release();
    expect(await purgeDeletedDocuments(database.pool, settings)).toEqual({ purged: 0, kept: 1 });
    await database.pool.query(`DELETE FROM "OutboxEvent"`);
    expect(await purgeUntilGone(database, 1)).toBe(0);
  });

  test("whatever is open in other databases of the server", async () => {
    const [database, other] = [await openDatabase(), await openDatabase()];
    const writer = await other.pool.connect();
    await writer.query("BEGIN");
    await writer.query(`INSERT INTO "IdempotencyKey" VALUES ('k', 'v', now())`);
    await remove(database, { recordId: "1", position: 5 });
    await age(database);
    expect(await purgeUntilGone(database, 1)).toBe(0);
    await writer.query("ROLLBACK");
    writer.release();
  });

  test("in pages; one that is kept does not stop what comes behind it, and one that somebody holds is left for the next run", async () => {
    const database = await openDatabase();
    for (let n = 1; n <= 7; n += 1) {
      await remove(database, { recordId: `r${n}`, position: 100 + n });
      if (n <= 3) await publish(database, `r${n}`);
    }
    await age(database);
    const holder = await database.pool.connect();
    await holder.query(`BEGIN; SELECT 1 FROM "SearchDocument" WHERE "recordId" = 'r7' FOR UPDATE`);
    // The holder is younger than the deletions: it holds back this row alone.
    expect(await purgeUntilGone(database, 3, 2)).toBe(3);
    expect(await leftIn(database)).toEqual(["r1", "r2", "r3", "r7"]);
    await holder.query("COMMIT");
    holder.release();
    expect(await purgeUntilGone(database, 1, 2)).toBe(3);
  });

  test("and an upsert that comes meanwhile makes the document anew", async () => {
    const database = await openDatabase();
    await remove(database, { recordId: "1", position: 5 });
    await age(database);
    await Promise.all([upsert(database, { recordId: "1", position: 6 }), purgeDeletedDocuments(database.pool, settings)]);
    expect(await rowsOf(database, `SELECT "title", "deletedAt" FROM "SearchDocument"`)).toEqual([{ title: "Title", deletedAt: null }]);
  });
});
