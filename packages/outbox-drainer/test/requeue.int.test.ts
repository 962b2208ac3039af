import { randomUUID } from "node:crypto";
import { createRouter } from "@toolctrl/event-router/router";
import { describe, expect, test } from "vitest";
import {
  cancelEvents,
  pickMatchingEvents,
  previewMatchingEvents,
  requeueEvents,
  type OutboxStatus,
  type PickCursor,
} from "../src/actions.ts";
import { seedEvent, seedReceipt } from "./seed-event.ts";
import { openDatabase } from "./support.ts";

const router = createRouter();
const BY = { actor: "ann", reason: "receiver mended" };

async function read(database: Awaited<ReturnType<typeof openDatabase>>, id: string) {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `SELECT *, "status"::text AS "status", "scheduledAt" <= clock_timestamp() AS "isDue" FROM "OutboxEvent" WHERE "id" = $1`,
    [id],
  );
  return rows[0];
}

async function actions(database: Awaited<ReturnType<typeof openDatabase>>) {
  const { rows } = await database.pool.query<{
    actor: string;
    action: string;
    reason: string;
    affected: number;
    eventIds: string[];
    params: Record<string, unknown>;
  }>(`SELECT * FROM "OutboxAction" ORDER BY "createdAt"`);
  return rows;
}

describe("requeue", () => {
  test.each<OutboxStatus>(["FAILED", "CANCELLED", "DONE"])(
    "sends a %s event out again: new generation, fresh budgets, attempts kept, due now",
    async (status) => {
      const database = await openDatabase();
      const id = await seedEvent(database.pool, { status });
      const report = await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY });
      expect(report.events).toEqual([
        expect.objectContaining({ id, outcome: "requeued", from: status, generation: 1, willRun: ["notification-create"], suppressed: [] }),
      ]);
      expect(await read(database, id)).toMatchObject({
        status: "PENDING",
        generation: 1,
        retries: 0,
        crashes: 0,
        attempts: 9,
        processedAt: null,
        lastError: null,
        lastErrorCode: null,
        blocksLine: true,
        effectEpoch: 0,
        replayConsumer: null,
        isDue: true,
      });
    },
  );

  test.each<OutboxStatus>(["PENDING", "PROCESSING"])("refuses a %s event and changes nothing of it", async (status) => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status });
    const before = await read(database, id);
    const report = await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY });
    expect(report.events).toEqual([
      {
        id,
        outcome: "refused",
        status,
        eventType: "billing.invoice.paid",
        why: `expected the event to be FAILED, CANCELLED or DONE, got ${status}`,
      },
    ]);
    expect(await read(database, id)).toEqual(before);
  });

  test("says what happened to each id of a mixed batch, and writes one audit row with the failures the rows forget", async () => {
    const database = await openDatabase();
    const failed = await seedEvent(database.pool, { status: "FAILED" });
    const running = await seedEvent(database.pool, { status: "PROCESSING" });
    const unknown = randomUUID();
    const report = await requeueEvents(
      { pool: database.pool, router },
      { ids: [failed, running, unknown, failed], ...BY, params: { bulk: "b1" } },
    );
    expect(report.events.map((event) => [event.id, event.outcome])).toEqual([
      [failed, "requeued"],
      [running, "refused"],
      [unknown, "not-found"],
    ]);
    expect(await actions(database)).toEqual([
      expect.objectContaining({
        id: report.actionId,
        ...BY,
        action: "requeue",
        affected: 1,
        eventIds: [failed],
        params: {
          bulk: "b1",
          jitterMs: 0,
          before: [
            {
              id: failed,
              from: "FAILED",
              retries: 3,
              crashes: 2,
              lastErrorCode: "QUEUE.REJECTED",
              lastError: "refused",
              processedAt: null,
            },
          ],
          refused: [{ id: running, status: "PROCESSING" }],
        },
      }),
    ]);
  });

  test("of ids that do not exist leaves no audit row", async () => {
    const database = await openDatabase();
    const report = await requeueEvents({ pool: database.pool, router }, { ids: [randomUUID()], ...BY });
    expect(report.actionId).toBeNull();
    expect(await actions(database)).toEqual([]);
  });

  test("by many operators at once is done by exactly one of them", async () => {
    const database = await openDatabase();
    const ids = await Promise.all(Array.from({ length: 20 }, () => seedEvent(database.pool, { status: "FAILED" })));
    const reports = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        requeueEvents({ pool: database.pool, router }, { ids: index % 2 === 0 ? ids : ids.toReversed(), actor: `op${index}` }),
      ),
    );
    for (const id of ids) {
      const outcomes = reports.map((report) => report.events.find((event) => event.id === id)?.outcome);
      expect(outcomes.filter((outcome) => outcome === "requeued")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === "refused")).toHaveLength(7);
      expect(await read(database, id)).toMatchObject({ generation: 1 });
    }
  });

  test("spreads a bulk over its jitter window, and no further", async () => {
    const database = await openDatabase();
    const ids = await Promise.all(Array.from({ length: 40 }, () => seedEvent(database.pool, { status: "DONE" })));
    await requeueEvents({ pool: database.pool, router }, { ids, ...BY, jitterMs: 3_600_000 });
    const { rows } = await database.pool.query<{ first: number; last: number; distinct: number }>(
      `SELECT extract(epoch FROM min("scheduledAt") - clock_timestamp())::float8 AS "first",
              extract(epoch FROM max("scheduledAt") - clock_timestamp())::float8 AS "last", count(DISTINCT "scheduledAt")::int AS "distinct" FROM "OutboxEvent"`,
    );
    expect(rows[0]?.last).toBeLessThanOrEqual(3600);
    // 40 points of a window of one hour: the chance that none lies in its later half is 2^-40.
    expect(rows[0]?.last).toBeGreaterThan(1800);
    expect(rows[0]?.first).toBeLessThan(1800);
    expect(rows[0]?.distinct).toBe(40);
  });

  test("names the consumers that have a receipt and stay suppressed; one that is dead runs again", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "DONE", type: "mail.message.send" });
    await seedReceipt(database.pool, id, "mail-render");
    await seedReceipt(database.pool, id, "email-send", "dead");
    const report = await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY });
    expect(report.events[0]).toMatchObject({ suppressed: ["mail-render"], willRun: ["email-send"] });
  });

  test("says that an event without a routing rule will fail again", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "FAILED", type: "nowhere.to.go" });
    const report = await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY });
    expect(report.events[0]).toMatchObject({ outcome: "requeued", routable: false, willRun: [] });
  });
});

describe("replay", () => {
  test("raises the effect epoch for one consumer; the others stay suppressed", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "DONE", type: "mail.message.send" });
    await seedReceipt(database.pool, id, "mail-render");
    await seedReceipt(database.pool, id, "email-send");
    const report = await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY, replay: { consumer: "email-send" } });
    expect(report.events[0]).toMatchObject({
      effectEpoch: 1,
      replayConsumer: "email-send",
      suppressed: ["mail-render"],
      willRun: ["email-send"],
    });
    expect(await read(database, id)).toMatchObject({ effectEpoch: 1, replayConsumer: "email-send", generation: 1 });
    expect((await actions(database))[0]).toMatchObject({ action: "replay", params: { consumer: "email-send" } });
  });

  test("is kept by a plain requeue, which raises only the generation", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "DONE", type: "mail.message.send", effectEpoch: 2, replayConsumer: "email-send" });
    await seedReceipt(database.pool, id, "email-send", "done", 1);
    await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY });
    expect(await read(database, id)).toMatchObject({ effectEpoch: 2, replayConsumer: "email-send", generation: 1 });
  });

  test("of a consumer that does not serve the event is refused and changes nothing", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "DONE", type: "billing.invoice.paid" });
    const report = await requeueEvents({ pool: database.pool, router }, { ids: [id], ...BY, replay: { consumer: "email-send" } });
    expect(report.events[0]).toMatchObject({
      outcome: "refused",
      why: "expected email-send to be a consumer of billing.invoice.paid, got notification-create",
    });
    expect(await read(database, id)).toMatchObject({ status: "DONE", effectEpoch: 0, generation: 0 });
  });
});

describe("cancel", () => {
  test.each<[OutboxStatus, string]>([
    ["PENDING", "cancelled"],
    ["FAILED", "cancelled"],
    ["PROCESSING", "refused"],
    ["DONE", "refused"],
    ["CANCELLED", "refused"],
  ])("of a %s event: %s", async (status, outcome) => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status });
    const report = await cancelEvents({ pool: database.pool }, { ids: [id], ...BY });
    expect(report.events[0]?.outcome).toBe(outcome);
    expect(await read(database, id)).toMatchObject({ status: outcome === "cancelled" ? "CANCELLED" : status, generation: 0 });
    expect(await actions(database)).toEqual([expect.objectContaining({ action: "cancel", affected: outcome === "cancelled" ? 1 : 0 })]);
  });
});

describe("a filter", () => {
  test("walks every matching event once, state by state, and only those", async () => {
    const database = await openDatabase();
    const wanted = new Set<string>();
    for (let index = 0; index < 7; index += 1) {
      wanted.add(await seedEvent(database.pool, { status: "DONE", age: `${index} minutes` }));
      wanted.add(await seedEvent(database.pool, { status: "FAILED", age: `${index} minutes` }));
    }
    await seedEvent(database.pool, { status: "DONE", age: "3 hours" });
    await seedEvent(database.pool, { status: "DONE", type: "billings.invoice.paid" });
    await seedEvent(database.pool, { status: "DONE", tenantId: "globex" });
    await seedEvent(database.pool, { status: "CANCELLED" });
    const { rows } = await database.pool.query<{ from: Date }>(`SELECT clock_timestamp() - interval '1 hour' AS "from"`);
    const filter = { statuses: ["DONE", "FAILED"] as const, typePrefix: "billing.", tenantId: "acme", from: rows[0]?.from ?? new Date() };
    const found: string[] = [];
    for (let cursor: PickCursor | null = null; ;) {
      const page: Awaited<ReturnType<typeof pickMatchingEvents>> = await pickMatchingEvents(database.pool, filter, cursor, 3);
      found.push(...page.ids);
      if (page.cursor === null) break;
      cursor = page.cursor;
    }
    expect(found).toHaveLength(14);
    expect(new Set(found)).toEqual(wanted);
    expect(await previewMatchingEvents(database.pool, filter, 100)).toMatchObject({ total: 14 });
    expect(await previewMatchingEvents(database.pool, filter, 10)).toMatchObject({ total: 10 });
  });

  test("counts in its preview the events whose consumer has a receipt, of the replay's epoch where it is replayed", async () => {
    const database = await openDatabase();
    const [first] = await Promise.all([0, 1, 2].map(() => seedEvent(database.pool, { status: "DONE" })));
    await seedReceipt(database.pool, first ?? "", "notification-create");
    const replayed = await seedEvent(database.pool, { status: "DONE", effectEpoch: 1, replayConsumer: "notification-create" });
    await seedReceipt(database.pool, replayed, "notification-create");
    expect(await previewMatchingEvents(database.pool, { statuses: ["DONE"] }, 100)).toEqual({
      total: 4,
      byType: [{ status: "DONE", eventType: "billing.invoice.paid", events: 4 }],
      mayFollowYounger: 0,
      receipts: [{ consumer: "notification-create", events: 1 }],
    });
  });
});
