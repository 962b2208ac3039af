import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { openDatabase, readEvents, statuses } from "../support.ts";
import { effectOf, gate, insertRecordEvents, mark, marks, preparePull, workersOf, type Tx } from "../pull/support.ts";

describe("effects and DONE", () => {
  test("commit together, under a receipt of the effect", async () => {
    const database = await openDatabase();
    await preparePull(database);
    const [id = ""] = await insertRecordEvents(database, 1);
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "done" } });
    expect(await marks(database)).toEqual([{ eventId: id, text: "done" }]);
    expect(await readEvents(database)).toMatchObject([{ status: "DONE", attempts: 1, retries: 0, lockToken: null }]);
    const { rows } = await database.pool.query(`SELECT "consumer", "outcome" FROM "OutboxReceipt" WHERE "eventId" = $1`, [id]);
    expect(rows).toEqual([{ consumer: "test-effect", outcome: "done" }]);
    expect(await workers.runOnce()).toBeNull();
  });

  test("an effect sees the frozen payload, its position and its line, also when the payload is above the inline limit", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1, { payload: { text: "x".repeat(70_000) } });
    const seen: unknown[] = [];
    const workers = workersOf(database, [effectOf((_tx, event) => Promise.resolve(void seen.push(event)))]);
    await workers.runOnce();
    expect(seen).toMatchObject([{ recordKey: "Lead/1", position: 1n, payload: { object: "Lead", text: "x".repeat(70_000) } }]);
  });

  test("a failure rolls back every effect of the event, and its retry is written in the same commit", async () => {
    const database = await openDatabase();
    await preparePull(database);
    const [id = ""] = await insertRecordEvents(database, 1);
    const failing = effectOf(() => Promise.reject(new Error("no such field")), "second");
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id), "first"), failing]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry" } });
    expect(await marks(database)).toEqual([]);
    const [row] = await readEvents(database, [id]);
    expect(row).toMatchObject({ status: "PENDING", attempts: 1, retries: 1, lastErrorCode: "Error", lastError: "no such field" });
    expect(row?.dueIn).toBeGreaterThan(50);
    const { rows } = await database.pool.query(`SELECT FROM "OutboxReceipt"`);
    expect(rows).toEqual([]);
    // Not eligible again in the same loop.
    expect(await workers.runOnce()).toBeNull();
  });

  test("a Prisma model's failure and a raw one are told by their SQLSTATE", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1, { record: "a" });
    await insertRecordEvents(database, 1, { record: "b" });
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        if (event.recordKey === "Lead/a") await tx.$executeRawUnsafe(`SELECT 1 / 0`);
        else await tx.notification.create({ data: { id: "00000000-0000-4000-8000-000000000000", tenantId: "t".repeat(3), eventId: event.id, eventType: "\u0000", title: "t" } });
      }),
    ]);
    await workers.runOnce();
    await workers.runOnce();
    const rows = await readEvents(database);
    expect(rows.map((row) => [row.status, row.lastErrorCode])).toEqual([
      ["PENDING", "22012"],
      ["PENDING", "22021"],
    ]);
  });

  test("after its last retry the event is FAILED, and holds its line only where its route parks", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 2, { record: "a" });
    await insertRecordEvents(database, 2, { record: "b", type: "record.deal.updated" });
    const routes = [
      { prefix: "record.", target: "database", consumers: [] },
      { prefix: "record.deal.", target: "database", consumers: [], deadHead: "park" },
    ] as const;
    const failing = effectOf(() => Promise.reject(new Error("always")));
    const workers = workersOf(database, [failing], { settings: { maxRetries: 0 }, routes });
    while ((await workers.runOnce()) !== null);
    const { rows } = await database.pool.query(`SELECT "recordKey", "status"::text, "blocksLine" FROM "OutboxEvent" ORDER BY "position"`);
    expect(rows).toEqual([
      { recordKey: "Lead/a", status: "FAILED", blocksLine: false },
      { recordKey: "Lead/a", status: "FAILED", blocksLine: false },
      { recordKey: "Lead/b", status: "FAILED", blocksLine: true },
      { recordKey: "Lead/b", status: "PENDING", blocksLine: true },
    ]);
  });

  test("an event published by an effect is there when the effect commits, and not when it fails", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1, { record: "good" });
    await insertRecordEvents(database, 1, { record: "bad" });
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        const payload = { to: ["a@example.com"], subject: "s", text: String(event.recordKey) };
        await publishOutboxEvent(tx, { tenantId: event.tenantId, type: "product.lead.noticed", payload });
        if (event.recordKey === "Lead/bad") throw new Error("after publishing");
      }),
    ]);
    await workers.runOnce();
    await workers.runOnce();
    const { rows } = await database.pool.query(`SELECT "payload" ->> 'text' AS text FROM "OutboxEvent" WHERE "eventType" = 'product.lead.noticed'`);
    expect(rows).toEqual([{ text: "Lead/good" }]);
  });

  test("a requeued event does not repeat an effect that has its receipt; a replay of that effect does", async () => {
    const database = await openDatabase();
    await preparePull(database);
    const [id = ""] = await insertRecordEvents(database, 1);
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))]);
    await workers.runOnce();
    const requeue = `UPDATE "OutboxEvent" SET "status" = 'PENDING', "processedAt" = NULL, "blocksLine" = true, "scheduledAt" = clock_timestamp() - interval '1 second'`;
    await database.pool.query(`${requeue}, "generation" = 1 WHERE "id" = $1`, [id]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
    await database.pool.query(`${requeue}, "generation" = 2, "effectEpoch" = 1, "replayConsumer" = 'test-effect' WHERE "id" = $1`, [id]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(2);
  });

  test("a database event without an effect is FAILED as unroutable", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    expect(await workersOf(database, []).runOnce()).toMatchObject({ settlement: { outcome: "dead" } });
    expect(await readEvents(database)).toMatchObject([{ status: "FAILED", lastErrorCode: "ROUTER.UNROUTABLE" }]);
  });
});

describe("the transaction client is taken away", () => {
  test("of a Promise.all with one failing branch, the sibling's later write does not survive", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    const [failed, siblingEnded] = [gate(), gate()];
    let refusal: unknown;
    const sibling = async (tx: Tx, id: string): Promise<void> => {
      await failed.opened;
      await mark(tx, id, "late").catch((error: unknown) => (refusal = error));
      siblingEnded.open();
    };
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await mark(tx, event.id, "early");
        try {
          await Promise.all([Promise.reject(new Error("one branch")), sibling(tx, event.id)]);
        } finally {
          setImmediate(() => setImmediate(failed.open));
        }
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "retry", error: "one branch" } });
    await siblingEnded.opened;
    expect(refusal).toMatchObject({ code: "EFFECT.REVOKED" });
    expect(await marks(database)).toEqual([]);
    expect(await statuses(database)).toEqual({ PENDING: 1 });
  });

  test("a write that is in flight when its sibling fails is awaited and rolled back", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await Promise.all([
          tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId", "text") SELECT $1::uuid, pg_sleep(0.2)::text`, event.id),
          Promise.reject(new Error("one branch")),
        ]);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "retry", error: "one branch" } });
    expect(await marks(database)).toEqual([]);
  });

  test("a call that was not awaited and began before the effect ended is part of it", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf((tx, event) => {
        void tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId", "text") SELECT $1::uuid, 'x' || pg_sleep(0.1)`, event.id).then(String);
        return Promise.resolve();
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
  });

  test("a client kept beyond the effect is refused, models and nested transactions included", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    let kept: Tx | undefined;
    let nested: Tx | undefined;
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        kept = tx;
        await tx.$transaction(async (inner) => {
          nested = inner;
          await mark(inner, event.id);
        });
        await tx.notification.count();
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
    for (const client of [kept, nested]) {
      expect(() => client?.notification.count()).toThrow(expect.objectContaining({ code: "EFFECT.REVOKED" }));
      expect(() => client?.$queryRawUnsafe("SELECT 1")).toThrow(expect.objectContaining({ code: "EFFECT.REVOKED" }));
    }
  });

  test("a swallowed SQL error is never DONE, and the swallowed error is what the event tells", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await mark(tx, event.id);
        await tx.$executeRawUnsafe("SELECT 1 / 0").catch(() => undefined);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry", errorCode: "22012" } });
    expect(await marks(database)).toEqual([]);
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", retries: 1, lastErrorCode: "22012" }]);
  });

  test("an error caught behind a savepoint of the effect's own spoils nothing", async () => {
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await tx.$transaction((inner) => inner.$executeRawUnsafe("SELECT 1 / 0")).catch(() => undefined);
        await mark(tx, event.id);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
  });
});

describe("locks and time", () => {
  test("a lock that is not granted in time puts the event off for a moment, and nothing is counted", async () => {
    const database = await openDatabase();
    await preparePull(database);
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
    const database = await openDatabase();
    await preparePull(database);
    await insertRecordEvents(database, 1, { record: "a" });
    await insertRecordEvents(database, 1, { record: "b" });
    await database.pool.query(`INSERT INTO "Parent" ("id") VALUES ('p')`);
    const holder = await database.pool.connect();
    await holder.query("BEGIN");
    await holder.query(`LOCK TABLE "Parent" IN ACCESS EXCLUSIVE MODE`);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        const read = tx.$queryRawUnsafe(`SELECT 1 FROM "Parent"`);
        await (event.recordKey === "Lead/a" ? read.catch(() => undefined) : read.catch(() => Promise.reject(new Error("parent unreadable"))));
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "snooze", errorCode: "55P03" } });
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "snooze", errorCode: "55P03" } });
    await holder.query("ROLLBACK");
    holder.release();
  });

  test("an effect runs longer than any default of Prisma's transactions, and than its own lease, once", async () => {
    const database = await openDatabase();
    await preparePull(database);
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
      { settings: { leaseMs: 1_200 } },
    );
    workers.start();
    await waitFor(async () => (await statuses(database)).DONE === 1, { what: "the slow event to be DONE", timeoutMs: 30_000 });
    expect(runs).toBe(1);
    expect(await readEvents(database)).toMatchObject([{ attempts: 1, crashes: 0, retries: 0 }]);
    expect(await marks(database)).toHaveLength(1);
  });

  test("a transaction that expires is tried again, and never marked done", async () => {
    const database = await openDatabase();
    await preparePull(database);
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
