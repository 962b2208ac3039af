import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { describe, expect, test } from "vitest";
import { letTimePass, readEvents } from "../support.ts";
import { effectOf, insertRecordEvents, mark, marks, openPull, workersOf } from "../pull/support.ts";

describe("effects and DONE", () => {
  test("commit together, under a receipt of the effect", async () => {
    const database = await openPull();
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
    const database = await openPull();
    await insertRecordEvents(database, 1, { payload: { text: "x".repeat(70_000) } });
    const seen: unknown[] = [];
    const workers = workersOf(database, [effectOf((_tx, event) => Promise.resolve(void seen.push(event)))]);
    await workers.runOnce();
    expect(seen).toMatchObject([{ recordKey: "Lead/1", position: 1n, payload: { object: "Lead", text: "x".repeat(70_000) } }]);
  });

  test("a failure rolls back every effect of the event, and its retry is written in the same commit", async () => {
    const database = await openPull();
    const [id = ""] = await insertRecordEvents(database, 1);
    const failing = effectOf(() => Promise.reject(new Error("no such field")), "second");
    const metrics = createMetrics({ processMetrics: false });
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id), "first"), failing], { metrics });
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry" } });
    // The first one's rows are gone with the second one's: neither is told to be done.
    expect((await metrics.text()).match(/^outbox_consumer_deliveries_total.*$/gm)).toEqual([
      'outbox_consumer_deliveries_total{consumer="first",outcome="retry"} 1',
      'outbox_consumer_deliveries_total{consumer="second",outcome="retry"} 1',
    ]);
    expect(await marks(database)).toEqual([]);
    const [row] = await readEvents(database, [id]);
    expect(row).toMatchObject({ status: "PENDING", attempts: 1, retries: 1, lastErrorCode: "Error", lastError: "no such field" });
    expect(row?.dueIn).toBeGreaterThan(50);
    const { rows } = await database.pool.query(`SELECT FROM "OutboxReceipt"`);
    expect(rows).toEqual([]);
    // Not eligible again in the same loop.
    expect(await workers.runOnce()).toBeNull();
  });

  test("a failure rolls back what an effect wrote before a savepoint of its own, whatever that is called", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    let tries = 0;
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await mark(tx, event.id, "before");
        await tx.$executeRawUnsafe("SAVEPOINT attempt");
        tries += 1;
        if (tries === 1) throw new Error("the first try fails");
        await mark(tx, event.id, "after");
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "retry" } });
    expect(await marks(database)).toEqual([]);
    await letTimePass(database);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toMatchObject([{ text: "before" }, { text: "after" }]);
  });

  test("an error that PostgreSQL cannot store as it is counts as any other failure", async () => {
    const database = await openPull();
    const [id = ""] = await insertRecordEvents(database, 1);
    const peers = Object.assign(new Error("no\u0000such"), { code: `E_PEER\u0000${"😀".repeat(500)}` });
    const workers = workersOf(database, [effectOf(() => Promise.reject(peers))]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry" } });
    const stored = { lastErrorCode: expect.stringMatching(/^E_PEER\uFFFD😀{46}$/u), lastError: "no\uFFFDsuch" };
    expect(await readEvents(database, [id])).toMatchObject([{ status: "PENDING", retries: 1, crashes: 0, ...stored }]);
  });

  test("a Prisma model's failure and a raw one are told by their SQLSTATE", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1, { record: "a" });
    await insertRecordEvents(database, 1, { record: "b" });
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        if (event.recordKey === "Lead/a") await tx.$executeRawUnsafe(`SELECT 1 / 0`);
        else
          await tx.notification.create({
            data: {
              id: "00000000-0000-4000-8000-000000000000",
              tenantId: "t".repeat(3),
              eventId: event.id,
              eventType: "\u0000",
              title: "t",
            },
          });
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
    const database = await openPull();
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
    const database = await openPull();
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
    const { rows } = await database.pool.query(
      `SELECT "payload" ->> 'text' AS text FROM "OutboxEvent" WHERE "eventType" = 'product.lead.noticed'`,
    );
    expect(rows).toEqual([{ text: "Lead/good" }]);
  });

  test("a requeued event does not repeat an effect that has its receipt; a replay of that effect does", async () => {
    const database = await openPull();
    const [id = ""] = await insertRecordEvents(database, 1);
    const metrics = createMetrics({ processMetrics: false });
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))], { metrics });
    await workers.runOnce();
    const requeue = `UPDATE "OutboxEvent" SET "status" = 'PENDING', "processedAt" = NULL, "blocksLine" = true, "scheduledAt" = clock_timestamp() - interval '1 second'`;
    await database.pool.query(`${requeue}, "generation" = 1 WHERE "id" = $1`, [id]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
    await database.pool.query(`${requeue}, "generation" = 2, "effectEpoch" = 1, "replayConsumer" = 'test-effect' WHERE "id" = $1`, [id]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(2);
    const text = await metrics.text();
    expect(text).toContain('outbox_consumer_deliveries_total{consumer="test-effect",outcome="done"} 2');
    expect(text).toContain('outbox_consumer_deliveries_total{consumer="test-effect",outcome="duplicate"} 1');
    expect(text).toContain('outbox_duplicates_suppressed_total{consumer="test-effect"} 1');
    expect(text).toContain('outbox_consumer_seconds_count{consumer="test-effect"} 3');
  });

  test("a database event without an effect is FAILED as unroutable", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    expect(await workersOf(database, []).runOnce()).toMatchObject({ settlement: { outcome: "dead" } });
    expect(await readEvents(database)).toMatchObject([{ status: "FAILED", lastErrorCode: "ROUTER.UNROUTABLE" }]);
  });
});
