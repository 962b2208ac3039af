import { randomUUID } from "node:crypto";
import { createRouter } from "@toolctrl/event-router/router";
import { describe, expect, test } from "vitest";
import { planRequeue, previewMatchingEvents, requeueEvents, skipEvents } from "../../src/actions.ts";
import { listBlockedLines } from "../../src/stats.ts";
import { openDatabase } from "../support.ts";
import { seedLine } from "./seed-line.ts";

const ann = { actor: "ann", reason: "it will never work" };
const router = createRouter();

describe("skip", () => {
  test("takes the line away from a parked event, which stays FAILED with its error, and is written down", async () => {
    const { pool } = await openDatabase();
    const [head = "", next] = await seedLine(pool, "1", ["parked", "due"]);
    const report = await skipEvents({ pool }, { ids: [head], ...ann });
    expect(report.events).toEqual([{ id: head, outcome: "skipped", from: "FAILED", eventType: "record.lead.updated" }]);
    const { rows } = await pool.query(`SELECT "status", "blocksLine", "lastErrorCode" FROM "OutboxEvent" ORDER BY "position"`);
    expect(rows).toMatchObject([{ status: "FAILED", blocksLine: false, lastErrorCode: "HTTP.NETWORK" }, { status: "PENDING" }]);
    expect((await listBlockedLines(pool, { tenantId: null, limit: 9 })).lines).toEqual([]);
    const actions = await pool.query(`SELECT "actor", "action", "reason", "eventIds", "affected" FROM "OutboxAction"`);
    expect(actions.rows).toEqual([{ actor: "ann", action: "skip", reason: ann.reason, eventIds: [head], affected: 1 }]);
    expect(next).toBeDefined();
  });

  test("refuses every event that is not parked, and changes nothing of it", async () => {
    const { pool } = await openDatabase();
    const ids = (
      await Promise.all((["due", "in-flight", "dead", "done"] as const).map((state, n) => seedLine(pool, String(n), [state])))
    ).flat();
    const image = async (): Promise<unknown> => (await pool.query(`SELECT * FROM "OutboxEvent" ORDER BY "id"`)).rows;
    const before = await image();
    const missing = randomUUID();
    const { events } = await skipEvents({ pool }, { ids: [...ids, missing], ...ann });
    expect(events.map((event) => [event.outcome, event.outcome === "refused" ? event.why : null])).toEqual([
      ["refused", "expected the event to be FAILED, got PENDING"],
      ["refused", "expected the event to be FAILED, got PROCESSING"],
      ["refused", expect.stringContaining("nothing waits for it")],
      ["refused", "expected the event to be FAILED, got DONE"],
      ["not-found", null],
    ]);
    expect(await image()).toEqual(before);
  });

  test("by two operators at once is done by one of them", async () => {
    const { pool } = await openDatabase();
    const [head = ""] = await seedLine(pool, "1", ["parked", "due"]);
    const reports = await Promise.all(["ann", "bob"].map((actor) => skipEvents({ pool }, { ids: [head], actor })));
    expect(new Set(reports.map((report) => report.events[0]?.outcome))).toEqual(new Set(["refused", "skipped"]));
  });
});

describe("requeue", () => {
  test("of a parked event keeps its place in the line; of any other of a record it may follow younger ones, and that is said", async () => {
    const { pool } = await openDatabase();
    const [parked = "", waiting = ""] = await seedLine(pool, "1", ["parked", "due"]);
    const [dead = ""] = await seedLine(pool, "2", ["dead", "due"]);
    const [done = ""] = await seedLine(pool, "3", ["done"]);
    const plan = await planRequeue({ db: pool, router }, { ids: [parked, dead, done], replayConsumer: null });
    expect(plan).toMatchObject([{ mayFollowYoungerOf: null }, { mayFollowYoungerOf: "Lead/2" }, { mayFollowYoungerOf: "Lead/3" }]);
    const filter = { statuses: ["FAILED", "DONE"] as const };
    expect(await previewMatchingEvents(pool, filter, 100)).toMatchObject({ total: 3, mayFollowYounger: 2 });
    await requeueEvents({ pool, router }, { ids: [parked], ...ann });
    const { rows } = await pool.query(`SELECT "id" FROM "OutboxEvent" WHERE "blocksLine" AND "recordKey" = 'Lead/1' ORDER BY "position"`);
    expect(rows).toEqual([{ id: parked }, { id: waiting }]);
  });

  test("of an event without a record warns of nothing", async () => {
    const { pool } = await openDatabase();
    const id = randomUUID();
    await pool.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "lastErrorCode") VALUES ($1, 'acme', 'mail.message.send', '{}', 'FAILED', false, 'X')`,
      [id],
    );
    expect(await planRequeue({ db: pool, router }, { ids: [id], replayConsumer: null })).toMatchObject([{ mayFollowYoungerOf: null }]);
  });
});
