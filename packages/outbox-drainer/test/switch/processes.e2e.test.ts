import { createDatabase, type Database } from "@toolctrl/db/client";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { insertEvents, statuses } from "../support.ts";
import { findBreaches, loggedClaims, logClaims } from "./claim-log.ts";
import { modeOf } from "./support.ts";

type Vote = "false" | "shadow" | "true";
interface Installation {
  readonly database: Database;
  start(vote: Vote, env?: Record<string, string>): Promise<ChildHandle>;
}

async function install(): Promise<Installation> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  await logClaims(database.pool);
  return {
    database,
    async start(vote, env = {}) {
      const child = spawnNode(new URL("./drainer-process.ts", import.meta.url), { env: { DATABASE_URL: url, VOTE: vote, ...env } });
      await child.waitForLine(/^drains$/, { timeoutMs: 60_000 });
      return child;
    },
  };
}

/** Ends a process without a goodbye, and lets its entry run out, as it would by itself after half a minute. */
async function kill(database: Database, child: ChildHandle): Promise<void> {
  child.kill("SIGKILL");
  await child.waitForExit();
  await database.pool.query(`UPDATE "OutboxDrainer" SET "aliveUntil" = clock_timestamp() - interval '1 second' WHERE "pid" = $1`, [
    child.pid,
  ]);
}

async function untilMode(database: Database, mode: "batch" | "pull"): Promise<void> {
  await waitFor(async () => (await modeOf(database.pool)).startsWith(`${mode}@`), { what: `the mode ${mode}`, timeoutMs: 30_000 });
}

async function untilAllDone(database: Database): Promise<void> {
  const rest = async (): Promise<boolean> => Object.keys(await statuses(database)).join() === "DONE";
  await waitFor(rest, { what: "every event to be settled", timeoutMs: 40_000 });
}

describe.each([
  ["batch", "pull"],
  ["pull", "batch"],
] as const)("a process that is stopped before its claim as %s and resumed when the drainer is %s", (before, after) => {
  test("claims nothing", async () => {
    const { database, start } = await install();
    const vote = (mode: "batch" | "pull"): Vote => (mode === "pull" ? "true" : "false");
    const stopped = await start(vote(before), { STOP_AT: before });
    await stopped.waitForLine(/^about to claim$/);
    expect(await modeOf(database.pool)).toMatch(before);
    await insertEvents(database, 20);
    // It is silent for so long that it no longer counts.
    await database.pool.query(`UPDATE "OutboxDrainer" SET "aliveUntil" = clock_timestamp() - interval '1 second'`);
    const other = await start(vote(after));
    await untilMode(database, after);
    await untilAllDone(database);
    const [epoch] = (await modeOf(database.pool)).split("@").slice(1);
    await insertEvents(database, 20, { delay: "1 hour" });
    other.kill("SIGKILL");
    await other.waitForExit();
    const claims = await loggedClaims(database.pool);
    // Nobody but the stopped process is left to claim these; it resumes under the epoch it had read before.
    await database.pool.query(`UPDATE "OutboxEvent" SET "scheduledAt" = clock_timestamp() WHERE "status" = 'PENDING'`);
    stopped.kill("SIGCONT");
    await stopped.waitForLine(/^resumed$/);
    await waitFor(async () => (await loggedClaims(database.pool)).length > claims.length, {
      what: "a claim under the new mode",
      timeoutMs: 20_000,
    });
    const later = (await loggedClaims(database.pool)).slice(claims.length);
    expect(findBreaches(await loggedClaims(database.pool))).toEqual([]);
    expect(
      later.every((claim) => claim.epoch >= Number(epoch)),
      JSON.stringify(later[0]),
    ).toBe(true);
  });
});

const PROCESSES = 10;
const ROUNDS = 5;

/** Numbers from 0 to below 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Member {
  readonly vote: Vote;
  readonly child: ChildHandle;
}

/** Ends some of the processes, all that would vote against `target` among them, and starts others, so that the votes ask for `target`. */
async function reshuffle(
  { database, start }: Installation,
  members: readonly Member[],
  target: "batch" | "pull",
  random: () => number,
): Promise<Member[]> {
  const leaving = members.filter(({ vote }) => random() < 0.2 || (target === "pull" && vote !== "true"));
  if (leaving.length === 0 && members[0] !== undefined) leaving.push(members[0]);
  const staying = members.filter((member) => !leaving.includes(member));
  const ends = leaving.map(async ({ child }) => {
    if (random() < 0.5) return kill(database, child);
    child.kill("SIGTERM");
    await child.waitForExit();
  });
  const votes = Array.from({ length: PROCESSES - staying.length }, (_, n): Vote => {
    if (target === "pull") return "true";
    if (n === 0) return "false";
    return (["true", "shadow", "false"] as const)[Math.floor(random() * 3)] ?? "true";
  });
  const starts = votes.map(async (vote): Promise<Member> => ({ vote, child: await start(vote) }));
  await Promise.all(ends);
  return [...staying, ...(await Promise.all(starts))];
}

test(
  "ten processes with mixed votes, killed, stopped and restarted at random, never have both drainers claiming",
  { timeout: 240_000 },
  async () => {
    const seed = Number(process.env["SWITCH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
    process.stdout.write(`SWITCH_SEED=${seed}\n`);
    const random = randomFrom(seed);
    const installation = await install();
    const { database } = installation;
    let members: Member[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const target = round % 2 === 0 ? "pull" : "batch";
      await insertEvents(database, 40);
      members = await reshuffle(installation, members, target, random);
      const paused = members[Math.floor(random() * members.length)];
      paused?.child.kill("SIGSTOP");
      await untilMode(database, target);
      const before = (await loggedClaims(database.pool)).length;
      await insertEvents(database, 40, { type: "record.lead.updated" });
      await waitFor(async () => (await loggedClaims(database.pool)).length >= before + 20, {
        what: `claims as ${target} (seed ${seed})`,
        timeoutMs: 30_000,
      });
      paused?.child.kill("SIGCONT");
    }
    await untilAllDone(database);
    const claims = await loggedClaims(database.pool);
    expect(findBreaches(claims), `seed ${seed}`).toEqual([]);
    const epochsOf = (mode: string): number => new Set(claims.filter((claim) => claim.mode === mode).map((claim) => claim.epoch)).size;
    expect([epochsOf("pull") >= 3, epochsOf("batch") >= 2], `seed ${seed}`).toEqual([true, true]);
    const { rows } = await database.pool.query(`SELECT "eventId" FROM "Mark" GROUP BY 1 HAVING count(*) > 1`);
    expect(rows, "effects that happened twice").toEqual([]);
  },
);
