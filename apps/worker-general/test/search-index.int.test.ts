import type { Consumer } from "@toolctrl/consumer/define";
import { transaction } from "@toolctrl/db/client";
import { searchDocuments } from "@toolctrl/domain/search";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createSearchConsumer } from "../src/consumers/create-search-consumer.ts";
import { readEnv } from "../src/env.ts";
import { startMaintenance } from "../src/start-maintenance.ts";
import { deliveryOf, impatientPool, type DeliveryParts } from "./delivery-of.ts";
import { openOneQueue, type OneQueueRig } from "./one-queue-rig.ts";

let rig: OneQueueRig;
let consumer: Consumer;

beforeAll(async () => {
  rig = await openOneQueue("search-index");
  consumer = createSearchConsumer({ pool: rig.database.pool });
});

afterAll(() => rig.close());

beforeEach(() => rig.database.pool.query(`TRUNCATE "SearchDocument"`));

const LEAD = { collection: "lead", recordId: "7" };
const UPSERT = { ...LEAD, title: "Ann Smith", body: "wants a red bicycle", language: "english" };

async function documents(): Promise<Array<Record<string, unknown>>> {
  const { rows } = await rig.database.pool.query<Record<string, unknown>>(
    `SELECT "tenantId", "title", "eventId", "effectEpoch", "appliedPosition"::int AS "position", "deletedAt" IS NOT NULL AS "deleted"
     FROM "SearchDocument" ORDER BY "tenantId"`,
  );
  return rows;
}

const upsertOf = (parts: Partial<DeliveryParts> = {}) => deliveryOf({ type: "search.index.upsert", payload: UPSERT, ...parts });

async function resultOf(eventId: string, effectEpoch = 0): Promise<unknown> {
  const { rows } = await rig.database.pool.query<{ result: unknown }>(
    `SELECT "result" FROM "OutboxReceipt" WHERE "eventId" = $1 AND "effectEpoch" = $2`,
    [eventId, effectEpoch],
  );
  return rows[0]?.result;
}

describe("search-index, with no claim before it", () => {
  test("writes one document and one receipt for 20 deliveries of one event at once", async () => {
    const event = upsertOf({ position: 3 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => consumer.handle(event)));
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ({ kind: "done", result: { applied: true } })));
    expect(await documents()).toEqual([
      { tenantId: "acme", title: "Ann Smith", eventId: event.eventId, effectEpoch: 0, position: 3, deleted: false },
    ]);
  });

  test("is done with an event that a younger one has overtaken, and its receipt says so", async () => {
    await consumer.handle(deliveryOf({ type: "search.index.delete", payload: LEAD, position: 2 }));
    const late = upsertOf({ position: 1 });
    expect(await consumer.handle(late)).toEqual({ kind: "done", result: { applied: false } });
    expect(await documents()).toMatchObject([{ title: "", position: 2, deleted: true }]);
    expect(await resultOf(late.eventId)).toEqual({ applied: false });
  });

  test("keeps the documents of two tenants apart, whatever their events have in common", async () => {
    await consumer.handle(upsertOf({ tenantId: "a", position: 1 }));
    await consumer.handle(upsertOf({ tenantId: "b", position: 2 }));
    await consumer.handle(deliveryOf({ type: "search.index.delete", payload: LEAD, tenantId: "b", position: 3 }));
    expect(await documents()).toMatchObject([
      { tenantId: "a", deleted: false },
      { tenantId: "b", deleted: true },
    ]);
  });

  test("writes neither document nor receipt when the write fails, and both when it is delivered again", async () => {
    const event = upsertOf();
    await rig.database.pool.query(`ALTER TABLE "SearchDocument" ADD CONSTRAINT broken CHECK ("recordId" <> '7')`);
    await expect(consumer.handle(event)).rejects.toThrow("broken");
    expect(await resultOf(event.eventId)).toBeUndefined();
    await rig.database.pool.query(`ALTER TABLE "SearchDocument" DROP CONSTRAINT broken`);
    expect(await consumer.handle(event)).toMatchObject({ kind: "done" });
    expect(await documents()).toHaveLength(1);
  });

  test("snoozes, using no attempt, when somebody holds the record's document longer than the lock time-out", async () => {
    await consumer.handle(upsertOf());
    const impatient = createSearchConsumer({ pool: impatientPool(rig.database.pool) });
    await transaction(rig.database.pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "SearchDocument" FOR UPDATE`);
      expect(await impatient.handle(upsertOf({ position: 2 }))).toEqual({ kind: "snooze", untilMs: expect.any(Number) });
    });
  });

  test.each<[string, Partial<DeliveryParts>, string[]]>([
    ["no record", { payload: { collection: "lead", title: "t" } }, ["recordId"]],
    ["a collection that is none", { payload: { ...UPSERT, collection: "Lead list" } }, ["collection"]],
    ["a member too many", { payload: { ...UPSERT, extra: 1 } }, ["extra"]],
    ["a language of no server", { payload: { ...UPSERT, language: "klingon" } }, ["language"]],
    ["an upsert in a deletion", { type: "search.index.delete", payload: UPSERT }, ["title", "body", "language"]],
    ["another type", { type: "search.index.rebuild" }, ["type"]],
  ])("gives up at once on %s, naming the path and no value", async (_name, parts, paths) => {
    const error: unknown = await consumer.handle(upsertOf(parts)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "RECEIVER.PAYLOAD", retry: false, facts: { paths } });
    expect(String(error)).not.toMatch(/Ann|bicycle|Lead list/);
    expect(await documents()).toEqual([]);
  });
});

describe("search-index, behind its queue", () => {
  const found = async (query: string): Promise<string[]> =>
    (await searchDocuments(rig.database.pool, { tenantId: rig.tenantId, query })).hits.map(({ recordId }) => recordId);

  test("makes what was published findable, and what was deleted not", async () => {
    const id = await rig.publish("search.index.upsert", UPSERT);
    await rig.untilReceipts(id, ["search-index done"]);
    expect(await found("red bicycles")).toEqual(["7"]);
    const trace = await rig.trace(id);
    expect(trace.effects).toMatchObject([{ table: "SearchDocument", key: "lead/7", effectEpoch: 0 }]);
    const deletion = await rig.publish("search.index.delete", LEAD);
    await rig.untilReceipts(deletion, ["search-index done"]);
    expect(await found("red bicycles")).toEqual([]);
    expect((await rig.trace(deletion)).effects).toMatchObject([{ table: "SearchDocument", key: "lead/7 (deleted)" }]);
  });

  test("finds the words of a payload that travels by reference", async () => {
    const id = await rig.publish("search.index.upsert", { ...UPSERT, body: `${"many words ".repeat(8000)} needle` });
    await rig.untilReceipts(id, ["search-index done"]);
    expect(await found("needle")).toEqual(["7"]);
  });

  test("is dead on a payload that it cannot use, with the paths in the receipt, and not its values", async () => {
    const id = await rig.publishUnchecked("search.index.upsert", { ...LEAD, body: "secret" });
    await rig.untilReceipts(id, ["search-index dead"]);
    const { verdict, receipts } = await rig.trace(id);
    expect(verdict).toMatchObject({ state: "dead" });
    expect(receipts[0]?.detail).toMatch(/RECEIVER\.PAYLOAD.*title/);
    expect(receipts[0]?.detail).not.toContain("secret");
  });

  test("runs again exactly once when its event is requeued after its attempts were used up", async () => {
    await rig.database.pool.query(`ALTER TABLE "SearchDocument" ADD CONSTRAINT broken CHECK ("recordId" <> '7')`);
    const id = await rig.publish("search.index.upsert", UPSERT);
    await rig.untilReceipts(id, ["search-index dead"]);
    expect((await rig.trace(id)).jobs).toMatchObject([{ view: { state: "failed", failures: 8 } }]);
    await rig.database.pool.query(`ALTER TABLE "SearchDocument" DROP CONSTRAINT broken`);
    await rig.requeue(id);
    await rig.untilReceipts(id, ["search-index done"]);
    await rig.untilIdle();
    expect((await rig.trace(id)).jobs).toMatchObject([{}, { generation: 1, view: { state: "completed", starts: 1 } }]);
    expect(await documents()).toMatchObject([{ eventId: id, title: "Ann Smith" }]);
  });

  test("mends a document that was changed by hand when its event is replayed; a requeue leaves it as it is", async () => {
    const id = await rig.publish("search.index.upsert", UPSERT);
    await rig.untilReceipts(id, ["search-index done"]);
    await rig.database.pool.query(`UPDATE "SearchDocument" SET "title" = 'changed'`);
    await rig.requeue(id);
    await waitFor(async () => (await rig.trace(id)).jobs[1]?.view?.state === "completed", { what: "the requeued job to be done" });
    expect(await documents()).toMatchObject([{ title: "changed", effectEpoch: 0 }]);
    await rig.requeue(id, { replay: true });
    await rig.untilReceipts(id, ["search-index done", "search-index done"]);
    expect(await documents()).toMatchObject([{ eventId: id, title: "Ann Smith", effectEpoch: 1 }]);
    expect(await resultOf(id, 1)).toEqual({ applied: true });
  });

  test("brings nothing back by a replay of an event that a younger one has overtaken", async () => {
    const id = await rig.publish("search.index.upsert", UPSERT);
    await rig.untilReceipts(id, ["search-index done"]);
    await rig.untilReceipts(await rig.publish("search.index.delete", LEAD), ["search-index done"]);
    await rig.requeue(id, { replay: true });
    await rig.untilReceipts(id, ["search-index done", "search-index done"]);
    expect(await documents()).toMatchObject([{ title: "", deleted: true }]);
    expect(await resultOf(id, 1)).toEqual({ applied: false });
  });
});

test("the daily maintenance removes what old deleted records have left, and counts it", async () => {
  const { pool } = rig.database;
  await pool.query(
    `INSERT INTO "SearchDocument" ("tenantId", "collection", "recordId", "eventId", "appliedPosition", "deletedAt")
     VALUES ('acme', 'lead', 'old', gen_random_uuid(), 1, clock_timestamp() - interval '31 days'),
            ('acme', 'lead', 'young', gen_random_uuid(), 1, clock_timestamp() - interval '29 days')`,
  );
  const maintenance = startMaintenance(readEnv(rig.appEnv), rig);
  let runs = 0;
  // The server's own housekeeping may hold the row back for a run.
  await waitFor(
    async () => {
      await rig.backend.addAll([{ queue: "toolctrl.maintenance", id: `cleanup-${(runs += 1)}`, name: "cleanup.run", data: {} }]);
      return (await pool.query(`SELECT 1 FROM "SearchDocument"`)).rowCount === 1;
    },
    { what: "the old row to be purged" },
  );
  await maintenance.close(5000);
  expect((await pool.query(`SELECT "recordId" FROM "SearchDocument"`)).rows).toEqual([{ recordId: "young" }]);
  expect(await rig.metrics.text()).toContain('outbox_retention_deleted_total{source="SearchDocument"} 1');
});
