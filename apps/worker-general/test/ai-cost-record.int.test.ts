import { randomUUID } from "node:crypto";
import type { Consumer } from "@toolctrl/consumer/define";
import { transaction } from "@toolctrl/db/client";
import { readAiCosts, type AiCostDay } from "@toolctrl/domain/ai-costs";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAiCostConsumer } from "../src/consumers/create-ai-cost-consumer.ts";
import { deliveryOf, impatientPool, type DeliveryParts } from "./delivery-of.ts";
import { openOneQueue, type OneQueueRig } from "./one-queue-rig.ts";

let rig: OneQueueRig;
let consumer: Consumer;

beforeAll(async () => {
  rig = await openOneQueue("ai-cost-record");
  consumer = createAiCostConsumer({ pool: rig.database.pool });
});

afterAll(() => rig.close());

const COST = { model: "small", amount: "0.1", currency: "EUR", inputTokens: 100, outputTokens: 20 };

const costOf = (parts: Partial<DeliveryParts> = {}) =>
  deliveryOf({ type: "ai.cost.recorded", payload: COST, tenantId: randomUUID(), ...parts });

/** What a tenant has spent in all. */
function sumsOf(tenantId: string): Promise<AiCostDay[]> {
  return readAiCosts(rig.database.pool, { tenantId, from: "2026-06-01", to: "2027-05-31" });
}

async function entriesOf(eventId: string): Promise<Array<Record<string, unknown>>> {
  const { rows } = await rig.database.pool.query<Record<string, unknown>>(
    `SELECT "tenantId", "effectEpoch", trim_scale("amount")::text AS "amount" FROM "AiCostEntry" WHERE "eventId" = $1 ORDER BY "effectEpoch"`,
    [eventId],
  );
  return rows;
}

async function receiptsOf(eventId: string): Promise<unknown[]> {
  return (await rig.database.pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = $1`, [eventId])).rows;
}

describe("ai-cost-record, with no claim before it", () => {
  test("writes one entry, one sum and one receipt for 20 deliveries of one event at once", async () => {
    const event = costOf();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => consumer.handle(event)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => "done"));
    expect(await entriesOf(event.eventId)).toEqual([{ tenantId: event.tenantId, effectEpoch: 0, amount: "0.1" }]);
    expect(await receiptsOf(event.eventId)).toHaveLength(1);
    // The event's own day, as the cost names no time.
    expect(await sumsOf(event.tenantId)).toEqual([
      {
        day: "2027-03-01",
        model: "small",
        currency: "EUR",
        amount: "0.1",
        entries: "1",
        repeats: "0",
        inputTokens: "100",
        outputTokens: "20",
      },
    ]);
  });

  test("sums 100 events at once, each delivered twice, to the last digit", async () => {
    const tenantId = randomUUID();
    const events = Array.from({ length: 100 }, (_, index) =>
      costOf({ tenantId, payload: { ...COST, amount: index % 2 === 0 ? "0.1" : "0.2" } }),
    );
    await Promise.all([...events, ...events].map((event) => consumer.handle(event)));
    expect(await sumsOf(tenantId)).toMatchObject([{ amount: "15", entries: "100", inputTokens: "10000" }]);
  });

  test("keeps two tenants apart, whatever their events have in common", async () => {
    const [one, other] = [costOf(), costOf({ payload: { ...COST, amount: "7" } })];
    await consumer.handle(one);
    await consumer.handle(other);
    expect(await sumsOf(one.tenantId)).toMatchObject([{ amount: "0.1", entries: "1" }]);
    expect(await sumsOf(other.tenantId)).toMatchObject([{ amount: "7", entries: "1" }]);
  });

  test("writes neither entry nor sum nor receipt when one of them fails, and all when it is delivered again", async () => {
    const event = costOf();
    await rig.database.pool.query(`ALTER TABLE "AiCostDay" ADD CONSTRAINT broken CHECK ("tenantId" <> '${event.tenantId}')`);
    await expect(consumer.handle(event)).rejects.toThrow("broken");
    expect([await entriesOf(event.eventId), await receiptsOf(event.eventId)]).toEqual([[], []]);
    await rig.database.pool.query(`ALTER TABLE "AiCostDay" DROP CONSTRAINT broken`);
    expect(await consumer.handle(event)).toMatchObject({ kind: "done" });
    expect(await sumsOf(event.tenantId)).toMatchObject([{ amount: "0.1" }]);
  });

  test("adds nothing for an event whose receipt has been cleaned away", async () => {
    const event = costOf();
    await consumer.handle(event);
    await rig.database.pool.query(`DELETE FROM "OutboxReceipt" WHERE "eventId" = $1`, [event.eventId]);
    expect(await consumer.handle(event)).toMatchObject({ kind: "done" });
    expect(await sumsOf(event.tenantId)).toMatchObject([{ amount: "0.1", entries: "1" }]);
  });

  test("snoozes, using no attempt, when somebody holds the day's sum longer than the lock time-out", async () => {
    const event = costOf();
    await consumer.handle(event);
    const impatient = createAiCostConsumer({ pool: impatientPool(rig.database.pool) });
    await transaction(rig.database.pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "AiCostDay" WHERE "tenantId" = $1 FOR UPDATE`, [event.tenantId]);
      expect(await impatient.handle(costOf({ tenantId: event.tenantId }))).toEqual({ kind: "snooze", untilMs: expect.any(Number) });
    });
    expect(await sumsOf(event.tenantId)).toMatchObject([{ entries: "1" }]);
  });

  test.each<[string, Partial<DeliveryParts>, string[]]>([
    ["an amount that is a number", { payload: { ...COST, amount: 0.1 } }, ["amount"]],
    ["an amount finer than the ledger", { payload: { ...COST, amount: "0.1234567890123" } }, ["amount"]],
    ["an amount larger than the ledger", { payload: { ...COST, amount: "1234567890123" } }, ["amount"]],
    ["an amount that is no plain decimal", { payload: { ...COST, amount: "1e3" } }, ["amount"]],
    ["a currency that is none", { payload: { ...COST, currency: "euro" } }, ["currency"]],
    ["part of a token", { payload: { ...COST, inputTokens: 1.5 } }, ["inputTokens"]],
    ["fewer tokens than none", { payload: { ...COST, outputTokens: -1 } }, ["outputTokens"]],
    ["a time without a zone", { payload: { ...COST, recordedAt: "2027-03-01T00:00:00" } }, ["recordedAt"]],
    ["a time that cannot be", { payload: { ...COST, recordedAt: "0000-01-01T00:00:00Z" } }, ["recordedAt"]],
    ["no model, and a member too many", { payload: { amount: "1", currency: "EUR", cost: 1 } }, ["model", "cost"]],
    ["another type", { type: "ai.cost.estimated" }, ["type"]],
  ])("gives up at once on %s, naming the path and no value", async (_name, parts, paths) => {
    const event = costOf(parts);
    const error: unknown = await consumer.handle(event).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "RECEIVER.PAYLOAD", retry: false, facts: { paths } });
    expect(String(error)).not.toMatch(/\d|euro/);
    expect(await entriesOf(event.eventId)).toEqual([]);
  });
});

describe("ai-cost-record, behind its queue", () => {
  test("records what was published, by the day of the event in UTC, and its trace shows the entry", async () => {
    const id = await rig.publish("ai.cost.recorded", COST);
    await rig.untilReceipts(id, ["ai-cost-record done"]);
    const { rows } = await rig.database.pool.query<{ day: string }>(
      `SELECT to_char("createdAt" AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS "day" FROM "OutboxEvent" WHERE "id" = $1`,
      [id],
    );
    const day = rows[0]?.day ?? "";
    const days = await readAiCosts(rig.database.pool, { tenantId: rig.tenantId, from: day, to: day });
    expect(days).toMatchObject([{ day, model: "small", amount: "0.1" }]);
    expect((await rig.trace(id)).effects).toMatchObject([{ table: "AiCostEntry", key: "small 0.1 EUR", effectEpoch: 0 }]);
  });

  test("is dead on a payload that it cannot use, with the paths in the receipt", async () => {
    const id = await rig.publishUnchecked("ai.cost.recorded", { ...COST, amount: "12,50" });
    await rig.untilReceipts(id, ["ai-cost-record dead"]);
    const { verdict, receipts } = await rig.trace(id);
    expect(verdict).toMatchObject({ state: "dead" });
    expect(receipts[0]?.detail).toMatch(/RECEIVER\.PAYLOAD.*amount/);
    expect(receipts[0]?.detail).not.toContain("12,50");
  });

  test("runs again exactly once when its event is requeued after its attempts were used up", async () => {
    const { pool } = rig.database;
    await pool.query(`ALTER TABLE "AiCostDay" ADD CONSTRAINT broken CHECK ("model" <> 'broken')`);
    const id = await rig.publish("ai.cost.recorded", { ...COST, model: "broken" });
    await rig.untilReceipts(id, ["ai-cost-record dead"]);
    expect((await rig.trace(id)).jobs).toMatchObject([{ view: { state: "failed", failures: 8 } }]);
    expect(await entriesOf(id)).toEqual([]);
    await pool.query(`ALTER TABLE "AiCostDay" DROP CONSTRAINT broken`);
    await rig.requeue(id);
    await rig.untilReceipts(id, ["ai-cost-record done"]);
    await rig.untilIdle();
    expect((await rig.trace(id)).jobs).toMatchObject([{}, { generation: 1, view: { state: "completed", starts: 1 } }]);
    expect(await entriesOf(id)).toMatchObject([{ effectEpoch: 0, amount: "0.1" }]);
  });

  test("counts a replayed event once more, as a repeat that the sums tell; a requeue counts nothing", async () => {
    const id = await rig.publish("ai.cost.recorded", { ...COST, model: "replayed", recordedAt: "2027-03-01T00:00:00Z" });
    await rig.untilReceipts(id, ["ai-cost-record done"]);
    await rig.requeue(id);
    await waitFor(async () => (await rig.trace(id)).jobs[1]?.view?.state === "completed", { what: "the requeued job to be done" });
    const spent = { tenantId: rig.tenantId, from: "2027-03-01", to: "2027-03-01", model: "replayed" };
    expect(await readAiCosts(rig.database.pool, spent)).toMatchObject([{ amount: "0.1", entries: "1", repeats: "0" }]);
    await rig.requeue(id, { replay: true });
    await rig.untilReceipts(id, ["ai-cost-record done", "ai-cost-record done"]);
    expect(await readAiCosts(rig.database.pool, spent)).toMatchObject([{ amount: "0.2", entries: "2", repeats: "1" }]);
    expect((await rig.trace(id)).effects.map(({ effectEpoch }) => effectEpoch)).toEqual([0, 1]);
  });
});
