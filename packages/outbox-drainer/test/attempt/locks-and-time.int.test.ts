// Mostly waits: for locks, leases and limits.
import type { Database } from "@toolctrl/db/client";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { readEvents, statuses } from "../support.ts";
import { effectOf, gate, insertRecordEvents, mark, marks, openPull, workersOf } from "../pull/support.ts";

describe("locks and time", () => {
  test("a lock that is not granted in time puts the event off for a moment, and nothing is counted", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    await database.pool.query(`INSERT INTO "Parent" ("id") VALUES ('p')`);
    const holder = await database.pool.connect();
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM "Parent" WHERE "id" = 'p' FOR UPDATE`);
    const writesModel = effectOf(async (tx, event) => {
      await mark(tx, event.id);
      await tx.$executeRawUnsafe(`UPDATE "Parent" SET "value" = "value" + 1 WHERE "id" = 'p'`);
    });
    const workers = workersOf(database, [writesModel]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "snooze", errorCode: "55P03" } });
    const [row] = await readEvents(database);
    expect(row).toMatchObject({ status: "PENDING", attempts: 1, retries: 0, crashes: 0 });
    expect(row?.dueIn).toBeLessThanOrEqual(1.5);
    expect(await marks(database)).toEqual([]);
    await holder.query("COMMIT");
    holder.release();
    await waitFor(() => workers.runOnce(), { what: "the event to be due again" });
    expect(await statuses(database)).toEqual({ DONE: 1 });
    expect(await marks(database)).toHaveLength(1);
  });

  test("a lock time-out that the effect swallows, or turns into another error, is one too", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1, { record: "a" });
    await insertRecordEvents(database, 1, { record: "b" });
    await database.pool.query(`INSERT INTO "Parent" ("id") VALUES ('p')`);
    const holder = await database.pool.connect();
    await holder.query("BEGIN");
    await holder.query(`LOCK TABLE "Parent" IN ACCESS EXCLUSIVE MODE`);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        const read = tx.$queryRawUnsafe(`SELECT 1 FROM "Parent"`);
        await (event.recordKey === "Lead/a"
          ? read.catch(() => undefined)
          : read.catch(() => Promise.reject(new Error("parent unreadable"))));
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "snooze", errorCode: "55P03" } });
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "snooze", errorCode: "55P03" } });
    await holder.query("ROLLBACK");
    holder.release();
  });

  test("an effect runs longer than any default of Prisma's transactions, and than its own lease, once", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    let runs = 0;
    const workers = workersOf(
      database,
      [
        effectOf(async (tx, event) => {
          runs += 1;
          await tx.$queryRawUnsafe(`SELECT pg_sleep(12)::text`);
          await mark(tx, event.id);
        }),
      ],
      { settings: { leaseMs: 4_000 } },
    );
    workers.start();
    await waitFor(async () => (await statuses(database)).DONE === 1, { what: "the slow event to be DONE", timeoutMs: 30_000 });
    expect(runs).toBe(1);
    expect(await readEvents(database)).toMatchObject([{ attempts: 1, crashes: 0, retries: 0 }]);
    expect(await marks(database)).toHaveLength(1);
  });

  test("a transaction that expires is tried again, and never marked done", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const release = gate();
    const workers = workersOf(
      database,
      [
        effectOf(async (tx, event) => {
          await mark(tx, event.id);
          await release.opened;
        }),
      ],
      { settings: { idleInTransactionMs: 200 } },
    );
    const attempt = workers.runOnce();
    await waitFor(async () => (await marksHeld(database)) === 1, { what: "the transaction to be open" });
    await waitFor(async () => (await marksHeld(database)) === 0, { what: "the server to end the transaction" });
    release.open();
    expect(await attempt).toMatchObject({ fate: "kept", settlement: { outcome: "retry" } });
    expect(await marks(database)).toEqual([]);
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", retries: 1, attempts: 1 }]);
  });
});

/** How many transactions have written to "Mark" and are still open. */
async function marksHeld(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `SELECT count(DISTINCT pid)::int AS n FROM pg_locks WHERE relation = '"Mark"'::regclass AND mode = 'RowExclusiveLock'`,
  );
  return rows[0]?.n ?? 0;
}
