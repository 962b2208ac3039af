// Mostly waits: a lock is held for a minute.
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "@toolctrl/db/client";
import { rowDelete, type Row } from "@toolctrl/domain/rows";
import type { ChildHandle } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { createRow, eventsOf, IN_TX, openPullRig, renameRow, startPullApp, untilDone } from "./pull-support.ts";
import { openInstallation } from "./support.ts";

const EVERY_MS = 250;

interface Site {
  readonly database: Database;
  readonly processes: readonly ChildHandle[];
  readonly workers: number;
}

/** The product as it is: an effect that meets a row under deletion gives up at once. OUTBOX_PULL_PARALLELISM is left at its default. */
async function openApp(): Promise<Site> {
  const installation = await openInstallation();
  return { database: installation.database, processes: [await startPullApp(installation)], workers: 10 };
}

/** Two processes whose effects wait for the parent's lock, as those of the incident did. */
async function openWaiting(): Promise<Site> {
  const { database, start } = await openPullRig();
  const processes = await Promise.all([0, 1].map(() => start({ TOUCH_PARENTS: "yes", PARALLELISM: "4" })));
  return { database, processes, workers: 8 };
}

/** A cascade that stands still when it has locked the row it is to delete. */
function holdCascade(database: Database, root: Row): { locked: Promise<void>; end(how: "commits" | "is rolled back"): Promise<string> } {
  const [locked, end] = [Promise.withResolvers<void>(), Promise.withResolvers<"commits" | "is rolled back">()];
  const cascade = database.prisma.$transaction(async (tx) => {
    const onLevelLocked = async ({ level }: { level: number }): Promise<void> => {
      if (level > 0) return;
      locked.resolve();
      // A delete that is busy for a minute, not one that hangs: the server ends a transaction that is idle for so long.
      const beat = setInterval(() => void tx.$queryRaw`SELECT 1`.then(() => undefined), 10_000);
      const how = await end.promise.finally(() => clearInterval(beat));
      if (how === "is rolled back") throw new Error("is rolled back");
    };
    await rowDelete(tx, { ...root, onLevelLocked });
  }, IN_TX);
  return {
    locked: Promise.race([locked.promise, cascade.then(() => undefined)]),
    async end(how) {
      end.resolve(how);
      return cascade.then(
        () => "commits",
        (error: Error) => error.message,
      );
    },
  };
}

/** Changes unrelated rows at a pace, each time until its event is DONE, for so long. @returns the events. */
async function changeOthers(database: Database, rows: readonly Row[], forMs: number): Promise<string[]> {
  const ids: string[] = [];
  for (const until = performance.now() + forMs; performance.now() < until; await delay(EVERY_MS)) {
    const row = rows[ids.length % rows.length] as Row;
    const { eventId } = await renameRow(database, row, `change ${ids.length}`);
    ids.push(eventId);
    await waitFor(async () => (await eventsOf(database, [eventId]))[0]?.status === "DONE", {
      what: "an unrelated record's event to be DONE",
    });
  }
  return ids;
}

async function tellLatencies(database: Database, ids: readonly string[]): Promise<void> {
  const { rows } = await database.pool.query<{ median: number; longest: number }>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::int AS "median", max(ms)::int AS "longest"
     FROM (SELECT extract(epoch FROM "processedAt" - "createdAt") * 1000 AS ms FROM "OutboxEvent" WHERE "id" = ANY($1::uuid[])) x`,
    [ids],
  );
  process.stdout.write(`${ids.length} unrelated events under the lock: median ${rows[0]?.median} ms, longest ${rows[0]?.longest} ms\n`);
}

describe.each([
  ["that wait for it", openWaiting, 60_000, "commits"],
  ["of the product", openApp, 6_000, "is rolled back"],
] as const)("while a cascade holds a parent's lock against effects %s", (_effects, open, holdMs, how) => {
  test(
    `with twice as many events blocked as there are workers: other records go on all the time, the blocked ones are put off and end when it ${how}`,
    { timeout: 180_000 },
    async () => {
      const { database, processes, workers } = await open();
      const { row: root } = await createRow(database, "account", "root");
      const children: Row[] = [];
      for (let n = 0; n < 2 * workers + 2; n += 1) children.push((await createRow(database, "deal", `child ${n}`, root)).row);
      const { row: otherParent } = await createRow(database, "account", "other");
      const others = [otherParent];
      for (let n = 0; n < 4; n += 1) others.push((await createRow(database, "deal", `other ${n}`, otherParent)).row);
      await untilDone(database);

      const cascade = holdCascade(database, root);
      await cascade.locked;
      const blocked: string[] = [];
      for (const child of children) blocked.push((await renameRow(database, child, "renamed")).eventId);
      const free = await changeOthers(database, others, holdMs);
      const before = await eventsOf(database, blocked);
      expect(await cascade.end(how)).toBe(how);

      expect(before.filter(({ status }) => status !== "PENDING" && status !== "PROCESSING")).toEqual([]);
      expect(before.filter(({ attempts, lastErrorCode }) => attempts === 0 || lastErrorCode !== "55P03")).toEqual([]);
      await untilDone(database);
      const counted = (await eventsOf(database, [...blocked, ...free])).filter(({ retries, crashes }) => retries + crashes > 0);
      expect(counted).toEqual([]);
      await tellLatencies(database, free);
      const { rows } = await database.pool.query(`SELECT 1 FROM "RowField" WHERE "field" = 'label' AND "value" = '"renamed"'`);
      expect(rows).toHaveLength(how === "commits" ? 0 : children.length);
      for (const child of processes) child.kill("SIGTERM");
      expect(await Promise.all(processes.map((child) => child.waitForExit()))).toEqual(processes.map(() => ({ code: 0, signal: null })));
    },
  );
});
