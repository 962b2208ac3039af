import type { Database } from "@toolctrl/db/client";
import { createRouter, type RouteRule } from "@toolctrl/event-router/router";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { requeueEvents, skipEvents } from "../../src/actions.ts";
import { countBlockedLines, listBlockedLines } from "../../src/stats.ts";
import { effectOf, insertRecordEvents, mark, marks, preparePull, workersOf } from "../pull/support.ts";
import { dispatcherOf, insertEvents, letTimePass, openBackend, openDatabase, readEvents } from "../support.ts";

const routes = (deadHead: "park" | "continue"): RouteRule[] => [{ prefix: "record.", target: "database", consumers: [], deadHead }];

/** Key K: e1 fails for good, e2 and e3 wait behind it; key L has e4. Runs until nothing moves any more. */
async function play(deadHead: "park" | "continue") {
  const database = await openDatabase();
  await preparePull(database);
  const broken = new Set<string>();
  const effect = effectOf(async (tx, event) => {
    if (broken.has(event.id)) throw new Error("the receiver is broken");
    await mark(tx, event.id);
  });
  const [e1 = "", e2 = "", e3 = ""] = await insertRecordEvents(database, 3, { record: "K" });
  const [e4 = ""] = await insertRecordEvents(database, 1, { record: "L" });
  broken.add(e1);
  const workers = workersOf(database, [effect], { routes: routes(deadHead), settings: { parallelism: 3, intervalMs: 50, maxRetries: 0 } });
  workers.start();
  await untilFailed(database, e1);
  const done = async (): Promise<string[]> => (await marks(database)).map((row) => row.eventId);
  return { database, workers, e1, e2, e3, e4, broken, done };
}

async function untilFailed(database: Database, id: string): Promise<void> {
  await waitFor(async () => (await readEvents(database, [id]))[0]?.status === "FAILED", { what: "the head to fail for good" });
}

describe("a head that fails for good, on a route that parks", () => {
  test("keeps its record waiting, and nobody else; it is listed and counted until it is requeued, and then goes first", async () => {
    const { database, workers, e1, e2, e3, e4, broken, done } = await play("park");
    await waitFor(async () => (await done()).length === 1, { what: "the other record's event" });
    const { lines } = await listBlockedLines(database.pool, { tenantId: "acme", limit: 10 });
    expect(lines).toMatchObject([{ recordKey: "Lead/K", cause: "parked", headId: e1, depth: 2 }]);
    expect(await countBlockedLines(database.pool)).toEqual({ parked: 1, held: 0, backoff: 0, "in-flight": 0 });
    broken.clear();
    await requeueEvents({ pool: database.pool, router: createRouter() }, { ids: [e1], actor: "ann" });
    workers.wake();
    await waitFor(async () => (await done()).length === 4, { what: "the rest of the line" });
    expect(await done()).toEqual([e4, e1, e2, e3]);
    expect((await listBlockedLines(database.pool, { tenantId: null, limit: 10 })).lines).toEqual([]);
  });

  test("lets its record go on in order when it is skipped, and stays FAILED", async () => {
    const { database, workers, e1, e2, e3, e4, done } = await play("park");
    await waitFor(async () => (await done()).length === 1, { what: "the other record's event" });
    await skipEvents({ pool: database.pool }, { ids: [e1], actor: "ann" });
    workers.wake();
    await waitFor(async () => (await done()).length === 3, { what: "the rest of the line" });
    expect(await done()).toEqual([e4, e2, e3]);
    expect(await readEvents(database, [e1])).toMatchObject([{ status: "FAILED" }]);
  });
});

describe("a head that fails for good, on a route that continues", () => {
  test("lets its record go on at once, in order; requeued, it follows the younger ones", async () => {
    const { database, workers, e1, e2, e3, e4, broken, done } = await play("continue");
    await waitFor(async () => (await done()).length === 3, { what: "both records' events" });
    expect((await done()).filter((id) => id !== e4)).toEqual([e2, e3]);
    expect((await listBlockedLines(database.pool, { tenantId: null, limit: 10 })).lines).toEqual([]);
    broken.clear();
    await requeueEvents({ pool: database.pool, router: createRouter() }, { ids: [e1], actor: "ann" });
    workers.wake();
    await waitFor(async () => (await done()).length === 4, { what: "the requeued event" });
    expect((await done()).at(-1)).toBe(e1);
  });
});

describe.each(["park", "continue"] as const)("in batch mode, on a route that would %s,", (deadHead) => {
  const mailRoutes: RouteRule[] = [{ prefix: "mail.", target: "queue", queue: "outbox.mail", consumers: ["mail-render"], deadHead }];
  const parks = deadHead === "park";

  test("an event that fails for good is written down as the route says", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const [id = ""] = await insertEvents(database, 1);
    const refusing = { ping: backend.ping, addAll: async () => [{ ok: false as const, error: new Error("refused") }] };
    await dispatcherOf(database, refusing, { routes: mailRoutes, settings: { maxRetries: 0 } }).tick();
    expect(await blocksLine(database, id)).toEqual({ status: "FAILED", blocksLine: parks });
  });

  test("so is one that kills its process each time", async () => {
    const database = await openDatabase();
    const [id = ""] = await insertEvents(database, 1);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'solo', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp(), "crashes" = 1`,
    );
    await letTimePass(database);
    await dispatcherOf(database, await openBackend(), { routes: mailRoutes, settings: { crashBudget: 2 } }).tick();
    expect(await blocksLine(database, id)).toEqual({ status: "FAILED", blocksLine: parks });
  });
});

async function blocksLine(database: Database, id: string): Promise<unknown> {
  return (await database.pool.query(`SELECT "status", "blocksLine" FROM "OutboxEvent" WHERE "id" = $1`, [id])).rows[0];
}
