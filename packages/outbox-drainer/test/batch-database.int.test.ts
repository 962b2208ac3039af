import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import type { Database } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import type { AddResult, NewJob } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { createBatchDispatcher, type BatchDispatcher } from "../src/batch-dispatcher.ts";
import { splitIntoLanes, splitIntoLines } from "../src/lanes.ts";
import type { ClaimedEvent } from "../src/claimed-event.ts";
import { attemptsOf, effectOf, insertRecordEvents, mark, marks, preparePull } from "./pull/support.ts";
import { insertEvents, letTimePass, openDatabase, readEvents, SETTINGS, silentLog, statuses } from "./support.ts";

/** A batch dispatcher with attempts, and the jobs it adds. */
function dispatcherWith(database: Database, effects: readonly AfterSaveEffect[]): BatchDispatcher & { added: NewJob[] } {
  const added: NewJob[] = [];
  const backend = {
    addAll: (jobs: readonly NewJob[]) => (added.push(...jobs), Promise.resolve(jobs.map((): AddResult => ({ ok: true })))),
    ping: () => Promise.resolve(),
  };
  const dispatcher = createBatchDispatcher({
    pool: database.pool,
    router: createRouter(),
    backend,
    attempts: attemptsOf(database, effects, { backend }),
    settings: SETTINGS,
    metrics: createMetrics({ processMetrics: false }),
    alerts: createAlerts({ app: "test", log: silentLog }),
    log: silentLog,
  });
  return { ...dispatcher, added };
}

async function openBatch(): Promise<Database> {
  const database = await openDatabase();
  await preparePull(database);
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'batch', "desired" = 'batch'`);
  return database;
}

describe("record events in batch mode", () => {
  test("run their effects, each in a transaction of its own, beside hand-offs in bulk", async () => {
    const database = await openBatch();
    for (let n = 0; n < 10; n += 1) await insertRecordEvents(database, 1, { record: String(n), payload: { bad: n === 3 } });
    await insertEvents(database, 10);
    const dispatcher = dispatcherWith(database, [
      effectOf(async (tx, event) => {
        await mark(tx, event.id);
        if ((event.payload as { bad: boolean }).bad) throw new Error("bad");
      }),
    ]);
    expect(await dispatcher.tick()).toMatchObject({ claimed: 20, done: 19, retried: 1 });
    expect(await marks(database)).toHaveLength(9);
    expect(dispatcher.added).toHaveLength(10);
    expect(await statuses(database)).toEqual({ DONE: 19, PENDING: 1 });
  });

  test("of one record keep their order in a batch, hand-offs between them included", async () => {
    const database = await openBatch();
    for (let round = 0; round < 10; round += 1) {
      for (let record = 0; record < 6; record += 1) {
        const type = (round + record) % 3 === 0 ? "mail.lead.send" : "record.lead.updated";
        await insertRecordEvents(database, 1, { record: String(record), type });
      }
    }
    const order: string[] = [];
    const dispatcher = dispatcherWith(database, [
      effectOf((_tx, event) => Promise.resolve(void order.push(`${event.recordKey} ${event.position}`))),
    ]);
    const seen = dispatcher.added;
    seen.push = (...jobs: NewJob[]) => {
      for (const { data } of jobs) {
        const { position, payload } = data as { position: string; payload: { recordId: string } };
        order.push(`Lead/${payload.recordId} ${position}`);
      }
      return order.length;
    };
    expect(await dispatcher.tick()).toMatchObject({ done: 60 });
    for (let record = 0; record < 6; record += 1) {
      const positions = order.filter((entry) => entry.startsWith(`Lead/${record} `)).map((entry) => Number(entry.split(" ")[1]));
      expect(positions).toHaveLength(10);
      expect(positions).toEqual([...positions].sort((a, b) => a - b));
    }
  });

  test("one that waits for a lock holds up no other record's, and is put off without being counted", async () => {
    const database = await openBatch();
    await database.pool.query(`INSERT INTO "Parent" ("id") VALUES ('p')`);
    const holder = await database.pool.connect();
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM "Parent" FOR UPDATE`);
    const [stuck = ""] = await insertRecordEvents(database, 1, { record: "stuck" });
    for (let n = 0; n < 20; n += 1) await insertRecordEvents(database, 1, { record: String(n) });
    const dispatcher = dispatcherWith(database, [
      effectOf(async (tx, event) => {
        if (event.recordKey === "Lead/stuck") await tx.$executeRawUnsafe(`UPDATE "Parent" SET "value" = 1`);
        await mark(tx, event.id);
      }),
    ]);
    const tick = dispatcher.tick();
    await waitFor(async () => (await marks(database)).length === 20, { what: "the other records' effects" });
    expect(await tick).toMatchObject({ done: 20, snoozed: 1 });
    expect(await readEvents(database, [stuck])).toMatchObject([{ status: "PENDING", retries: 0, lastErrorCode: "55P03" }]);
    await holder.query("COMMIT");
    holder.release();
    await letTimePass(database);
    expect(await dispatcher.tick()).toMatchObject({ done: 1 });
    expect(await marks(database)).toHaveLength(21);
  });

  test("without a registered effect an event is FAILED as unroutable", async () => {
    const database = await openBatch();
    await insertRecordEvents(database, 1);
    expect(await dispatcherWith(database, []).tick()).toMatchObject({ dead: 1 });
    expect(await readEvents(database)).toMatchObject([{ status: "FAILED", lastErrorCode: "ROUTER.UNROUTABLE" }]);
  });

  test("whose lease ran out while it waited in its lane is left to its new owner", async () => {
    const database = await openBatch();
    await insertRecordEvents(database, 3);
    let runs = 0;
    const dispatcher = dispatcherWith(database, [
      effectOf(async (tx, event) => {
        runs += 1;
        await mark(tx, event.id);
        // The claims of those behind it are taken over meanwhile.
        await database.pool.query(`UPDATE "OutboxEvent" SET "lockToken" = gen_random_uuid() WHERE "position" > $1`, [event.position]);
      }),
    ]);
    expect(await dispatcher.tick()).toMatchObject({ done: 1, leaseLost: 2 });
    expect(runs).toBe(1);
  });

  test("an expired claim is run again alone, whichever drainer made it", async () => {
    const database = await openBatch();
    await insertRecordEvents(database, 2);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() - interval '1 second',
         "claimMode" = CASE "position" WHEN 1 THEN 'pull' ELSE 'batch' END`,
    );
    const dispatcher = dispatcherWith(database, [effectOf((tx, event) => mark(tx, event.id))]);
    expect(await dispatcher.tick()).toMatchObject({ claimed: 2, done: 2 });
    const rows = await readEvents(database);
    expect(rows.map((row) => row.crashes)).toEqual([1, 0]);
  });
});

test("on a table without the record key, events are claimed, reclaimed and handed off, and each is a line of its own", async () => {
  const database = await openBatch();
  await database.pool.query(`DROP TRIGGER "OutboxEvent_recordKey" ON "OutboxEvent"`);
  await database.pool.query(`ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey"`);
  await insertRecordEvents(database, 3);
  await insertEvents(database, 2);
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'batch', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "position" = 1`,
  );
  const keys: Array<string | null> = [];
  const dispatcher = dispatcherWith(database, [effectOf((_tx, event) => Promise.resolve(void keys.push(event.recordKey)))]);
  expect(await dispatcher.tick()).toMatchObject({ claimed: 5, done: 5 });
  expect(keys).toEqual([null, null, null]);
});

describe("lanes", () => {
  const event = (id: string, recordKey: string | null, eventType = "mail.message.send"): ClaimedEvent =>
    ({ id, tenantId: "acme", recordKey, eventType }) as ClaimedEvent;

  test("a record's events travel in one lane, in order", () => {
    const events = Array.from({ length: 100 }, (_, n) => event(`e${n}`, `Lead/${n % 10}`));
    const lanes = splitIntoLanes(events);
    expect(lanes.flat()).toHaveLength(100);
    for (let record = 0; record < 10; record += 1) {
      const having = lanes.filter((lane) => lane.some(({ recordKey }) => recordKey === `Lead/${record}`));
      expect(having).toHaveLength(1);
    }
    for (const lane of lanes) expect(lane).toEqual(events.filter((each) => lane.includes(each)));
  });

  test("a line with an attempt in it is taken out of the bulk as a whole", () => {
    const events = [event("1", "a"), event("2", "b"), event("3", "b", "record.x.y"), event("4", "b"), event("5", null)];
    const { lines, bulk } = splitIntoLines(events, (type) => type.startsWith("record."));
    expect(lines.map((line) => line.map(({ id }) => id))).toEqual([["2", "3", "4"]]);
    expect(bulk.map(({ id }) => id)).toEqual(["1", "5"]);
  });
});
