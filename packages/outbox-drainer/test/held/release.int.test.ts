import type { Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import type { NewJob } from "@toolctrl/queue/port";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { cancelEvents } from "../../src/actions.ts";
import { createHeldRelease, NOTHING_HELD } from "../../src/held.ts";
import { dispatcherOf, insertEvents, openDatabase, silentLog } from "../support.ts";
import { insertRecordEvents, openPull, workersOf } from "../pull/support.ts";
import { HELD_TYPE, holding, insertMany, releaseOf, rowsOf, setMode, totals } from "./support.ts";

const heldBy = holding("workflow.");
const AUDIT = "audit.entry.record";

/** Claims what is due until nothing is; the queue takes every job. */
async function drainPull(database: Database): Promise<void> {
  const workers = workersOf(database, [], { backend: { addAll: async (jobs) => jobs.map(() => ({ ok: true })) }, heldBy });
  while ((await workers.runOnce()) !== null);
}

async function heldEvents(database: Database, count: number): Promise<string[]> {
  const ids = await insertEvents(database, count, { type: HELD_TYPE });
  await drainPull(database);
  expect((await rowsOf(database, ids)).every(({ held, due }) => held && !due)).toBe(true);
  return ids;
}

describe("held events", () => {
  test("are due again when the dispatcher runs, which hands them off in the order of publishing, before what came later", async () => {
    const database = await openPull();
    const ids = await heldEvents(database, 5);
    await setMode(database, "batch");
    ids.push(...(await insertEvents(database, 2, { type: AUDIT, delay: "0 seconds" })));
    const { release, wakes } = releaseOf(database, heldBy);
    expect([await release.tick(), await release.tick(), wakes()]).toEqual([5, 0, 1]);
    expect(
      (await rowsOf(database, ids)).every(({ due, lastErrorCode, lastError }) => due && lastErrorCode === null && lastError === null),
    ).toBe(true);
    const jobs: NewJob[] = [];
    const backend = {
      addAll: async (all: readonly NewJob[]) => all.map((job) => (jobs.push(job), { ok: true as const })),
      ping: async () => {},
    };
    // Batches of one: the order is that of the claims.
    await dispatcherOf(database, backend, { settings: { batchSize: 1 } }).tick();
    expect(jobs.map(({ id }) => id)).toEqual(ids.map((id) => `outbox-${id}`));
  });

  test("stay while a switch is under way, and while pull workers run and nothing changes", async () => {
    const database = await openPull();
    const ids = await heldEvents(database, 2);
    for (const [mode, desired] of [
      ["pull", "pull"],
      ["pull", "batch"],
      ["batch", "pull"],
    ] as const) {
      await setMode(database, mode, desired);
      expect(await releaseOf(database, heldBy).release.tick()).toBe(0);
    }
    expect((await rowsOf(database, ids)).every(({ held }) => held)).toBe(true);
  });

  test("are due again when their consumer comes into scope; those of other held routes stay, and what stands behind them", async () => {
    const database = await openPull();
    const both = holding("workflow.", "rag.index.");
    const insert = (type: string, record: string) => insertRecordEvents(database, 1, { type, record });
    const [first = ""] = await insert(HELD_TYPE, "1");
    const [second = ""] = await insert("rag.index.upsert", "2");
    const [behind = ""] = await insert(HELD_TYPE, "2");
    const workers = workersOf(database, [], { heldBy: both });
    while ((await workers.runOnce()) !== null);
    expect((await rowsOf(database, [first, second, behind])).map(({ held }) => held)).toEqual([true, true, true]);
    expect(await releaseOf(database, holding("rag.index.")).release.tick()).toBe(1);
    expect((await rowsOf(database, [first, second, behind])).map(({ held, due }) => [held, due])).toEqual([
      [false, true],
      [true, false],
      [true, false],
    ]);
    expect(await releaseOf(database, NOTHING_HELD).release.tick()).toBe(1);
    expect(await releaseOf(database, NOTHING_HELD).release.tick()).toBe(1);
    expect(await totals(database)).toMatchObject({ held: 0, open: 3 });
  });

  test("release those behind them when an operator cancels them", async () => {
    const database = await openPull();
    await insertMany(database, 150, { type: HELD_TYPE, record: "r-" });
    await insertMany(database, 150, { type: AUDIT, record: "r-" });
    await drainPull(database);
    expect(await totals(database)).toMatchObject({ held: 300, open: 0 });
    const { rows } = await database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" WHERE "eventType" = $1`, [HELD_TYPE]);
    await cancelEvents(database, { ids: rows.map(({ id }) => id), actor: "test" });
    expect(await releaseOf(database, heldBy).release.tick()).toBe(150);
    expect(await totals(database)).toMatchObject({ held: 0 });
    const { rows: due } = await database.pool.query(
      `SELECT FROM "OutboxEvent" WHERE "eventType" = $1 AND "scheduledAt" <= clock_timestamp()`,
      [AUDIT],
    );
    expect(due).toHaveLength(150);
  });

  test("are released by several processes at once, each event once; what one that is cut off leaves, the others find", async () => {
    const database = await openPull();
    await insertMany(database, 3_500, { type: HELD_TYPE, record: "r-" });
    await drainPull(database);
    await setMode(database, "batch");
    const dying = { query: cutOffAfter(database, 1) };
    const cut = createHeldRelease({ db: dying, holdOf: () => null, wake: () => undefined, log: silentLog }).tick();
    const others = [1, 2].map(() => releaseOf(database, heldBy).release.tick());
    await expect(cut).rejects.toThrow("cut off");
    const rest = [...(await Promise.all(others)), await releaseOf(database, heldBy).release.tick()];
    const byTheDead = 3_500 - rest.reduce((sum, count) => sum + count, 0);
    // Of its one page: nothing if the others were first, and any part of it if they came to it at the same moment.
    expect(byTheDead).toBeGreaterThanOrEqual(0);
    expect(byTheDead).toBeLessThanOrEqual(1_000);
    expect(await totals(database)).toMatchObject({ held: 0, open: 3_500 });
  });
});

test("a database from before held events is not searched for them", async () => {
  const database = await openDatabase();
  await database.pool.query(`DROP INDEX "OutboxEvent_held_idx"`);
  await insertEvents(database, 1, { type: HELD_TYPE, delay: "1 day" });
  await database.pool.query(`UPDATE "OutboxEvent" SET "lastErrorCode" = 'ROUTER.HELD'`);
  expect(await releaseOf(database, heldBy).release.tick()).toBe(0);
});

test("a release that runs goes on by itself: what is held when the dispatcher takes over is due without anybody asking", async () => {
  const database = await openPull();
  const ids = await heldEvents(database, 3);
  const { release } = releaseOf(database, heldBy);
  release.start();
  onTestFinished(() => release.close(1_000));
  await setMode(database, "batch");
  await waitFor(async () => (await rowsOf(database, ids)).every(({ due }) => due), { what: "the held events to be due" });
  expect(await totals(database)).toMatchObject({ held: 0, open: 3 });
});

/** A connection that ends after so many pages of released events. */
function cutOffAfter({ pool }: Database, pages: number): Queryable["query"] {
  let left = pages;
  return (text, values) => {
    if (text.includes("released AS") && left-- === 0) return Promise.reject(new Error("cut off"));
    return pool.query(text, values);
  };
}
