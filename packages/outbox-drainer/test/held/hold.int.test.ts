import type { Database } from "@toolctrl/db/client";
import type { QueueBackend } from "@toolctrl/queue/port";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { holdDueEvents } from "../../src/held/sql/hold-due-events.ts";
import { insertEvents, silentLog } from "../support.ts";
import { collectLog, insertRecordEvents, openPull, workersOf } from "../pull/support.ts";
import { countStatements, HELD_TYPE, holding, HOLD, insertMany, rowsOf, setMode, totals } from "./support.ts";

const takesAll: Pick<QueueBackend, "addAll"> = { addAll: async (jobs) => jobs.map(() => ({ ok: true })) };
const AUDIT = "audit.entry.record";

function holdersOf(database: Database, log = silentLog) {
  return workersOf(database, [], { backend: takesAll, heldBy: holding("workflow."), log });
}

/** Turns of one loop until it finds nothing. */
async function drain(database: Database, log = silentLog): Promise<number> {
  const workers = holdersOf(database, log);
  for (let turns = 0; ; turns += 1) if ((await workers.runOnce()) === null) return turns;
}

describe("while pull workers drain, an event of a held route", () => {
  test("is put off with the reason and the day, and nothing is counted; its record waits behind it, others go on", async () => {
    const database = await openPull();
    const [head = ""] = await insertRecordEvents(database, 1, { type: HELD_TYPE, record: "1" });
    const [behind = ""] = await insertRecordEvents(database, 1, { type: AUDIT, record: "1" });
    const [other = ""] = await insertRecordEvents(database, 1, { type: AUDIT, record: "2" });
    const { log, messages } = collectLog();
    await drain(database, log);
    const [held, waiting, free] = await rowsOf(database, [head, behind, other]);
    expect(held).toMatchObject({ status: "PENDING", held: true, due: false, attempts: 1, retries: 0, crashes: 0 });
    expect(held?.lastError).toContain(HOLD.reason);
    expect(held?.lastError).toContain(HOLD.since);
    expect(waiting).toMatchObject({ status: "PENDING", attempts: 0 });
    expect(free).toMatchObject({ status: "DONE" });
    expect(messages().filter((message) => message.includes("are held"))).toHaveLength(1);
  });

  test("takes with it what else is due of its type, and nothing of another type, tenant or time", async () => {
    const database = await openPull();
    const due = await insertEvents(database, 3, { type: HELD_TYPE });
    const later = await insertEvents(database, 1, { type: HELD_TYPE, delay: "1 hour" });
    const elsewhere = await insertEvents(database, 1, { type: HELD_TYPE, tenantId: "globex" });
    const others = await insertEvents(database, 1, { type: AUDIT });
    await holdersOf(database).runOnce();
    expect((await rowsOf(database, due)).map(({ held, due: isDue }) => [held, isDue])).toEqual(due.map(() => [true, false]));
    expect((await rowsOf(database, [...later, ...elsewhere, ...others])).map(({ held }) => held)).toEqual([false, false, false]);
    expect((await totals(database)).claims).toBe(1);
  });

  test("is put off one by one where that fails, by whoever claims the next", async () => {
    const database = await openPull();
    const ids = await insertEvents(database, 3, { type: HELD_TYPE });
    const { query } = database.pool;
    database.pool.query = function (this: unknown, ...args: unknown[]) {
      if (String(args[0]).includes("oldest AS MATERIALIZED")) return Promise.reject(new Error("cut off"));
      return (query as (...all: unknown[]) => unknown).apply(database.pool, args);
    } as typeof query;
    expect(await drain(database)).toBe(3);
    expect((await rowsOf(database, ids)).every(({ held, due, retries }) => held && !due && retries === 0)).toBe(true);
  });

  test("is not put off once the dispatcher is to run", async () => {
    const database = await openPull();
    const ids = await insertEvents(database, 2, { type: HELD_TYPE });
    await setMode(database, "pull", "batch");
    expect(await holdDueEvents(database.pool, { tenantId: "acme", eventType: HELD_TYPE, delayMs: 1000, error: "held" })).toBe(0);
    expect((await rowsOf(database, ids)).map(({ held }) => held)).toEqual([false, false]);
  });
});

describe("a large backlog of a held route", () => {
  test("is put off by a claim for hundreds of events, and does not keep its tenant's other events waiting; then a look is one claim", async () => {
    const database = await openPull();
    const events = 20_000;
    await insertMany(database, events, { type: HELD_TYPE, record: "held-" });
    // Due after all of them, and of records that sort behind theirs.
    await insertMany(database, 20, { type: AUDIT, record: "zz-free-" });
    const workers = holdersOf(database);
    workers.start();
    await waitFor(async () => (await countDone(database)) === 20, { what: "the other events to be DONE", timeoutMs: 60_000 });
    await waitFor(async () => (await totals(database)).held === events, { what: "the held ones to be put off", timeoutMs: 60_000 });
    const { claims } = await totals(database);
    expect(claims).toBeLessThan(events / 100);
    await workers.close(10_000);
    const statements = countStatements(database, CLAIM);
    expect(await holdersOf(database).runOnce()).toBeNull();
    expect(statements()).toBe(1);
    expect((await totals(database)).claims).toBe(claims);
  });

  test("with an event behind each of them hides nothing either: those are put off with their heads", async () => {
    const database = await openPull();
    const lines = 2_000;
    await insertMany(database, lines, { type: HELD_TYPE, record: "held-" });
    await insertMany(database, lines, { type: AUDIT, record: "held-" });
    await insertMany(database, 1, { type: AUDIT, record: "zz-free-" });
    const statements = countStatements(database, CLAIM);
    await drain(database);
    expect(await totals(database)).toMatchObject({ held: 2 * lines, open: 0, done: 1 });
    expect(statements()).toBeLessThan(lines / 40);
  });
});

/** What every claim of a pull worker begins with. */
const CLAIM = "WITH RECURSIVE mode";

/** Asks an index: a look at every row would be most of the work here. */
async function countDone(database: Database): Promise<number> {
  return (await database.pool.query(`SELECT FROM "OutboxEvent" WHERE "status" = 'DONE'`)).rowCount ?? 0;
}
