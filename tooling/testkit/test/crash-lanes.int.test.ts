import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { crashLanes, type CrashLanesOptions } from "../src/crash-lanes.ts";
import { spawnNode, type ChildHandle } from "../src/process.ts";
import { createRedisNamespace } from "../src/redis-server.ts";
import type { LaneStory } from "../src/run-lanes.ts";
import { createEmptyDatabase } from "../src/template-db.ts";
import { waitFor } from "../src/wait.ts";

const SCRIPT = new URL("./fixtures/laned-calls.ts", import.meta.url);
const { url: redisUrl } = createRedisNamespace();
let pool: pg.Pool;
let redis: Redis;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = (await createEmptyDatabase()).url;
  pool = new pg.Pool({ connectionString: databaseUrl });
  await pool.query("CREATE TABLE effect (lane text, call int)");
  redis = new Redis(redisUrl);
});

afterAll(async () => {
  await pool.end();
  await redis.quit();
});

/** The effects of a lane that are there. */
async function effectsOf(lane: string): Promise<number[]> {
  const { rows } = await pool.query<{ call: number }>("SELECT call FROM effect WHERE lane = $1", [lane]);
  const set = await redis.get(`${lane}:effect`);
  return [...rows.map(({ call }) => call), ...(set === null ? [] : [Number(set)])].toSorted((a, b) => a - b);
}

type Check = (effects: readonly number[], crashed: boolean) => void;

/** A copy of the script; `check` is told what effects it had. */
function story(check: Check): ReturnType<CrashLanesOptions["story"]> {
  const { prefix: lane } = createRedisNamespace();
  const sessions = async (): Promise<number> =>
    (await pool.query("SELECT 1 FROM pg_stat_activity WHERE application_name = $1", [lane])).rowCount ?? 0;
  return {
    open: () => Promise.resolve({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, LANE: lane }),
    isServing: async () => String(await redis.client("LIST")).includes(`name=${lane} `) && (await sessions()) === 1,
    async handOver() {
      await redis.lpush(`${lane}:go`, "go");
    },
    state: async () => ((await effectsOf(lane)).includes(4) ? "done" : "working"),
    settle: async () => void (await waitFor(async () => (await sessions()) === 0)),
    recover: () => Promise.resolve(),
    check: async ({ crashed }) => check(await effectsOf(lane), crashed),
    close: () => Promise.resolve(),
  };
}

/** `started` collects the processes. */
function options(check: Check, started: ChildHandle[] = [], env: Record<string, string> = {}): CrashLanesOptions {
  return {
    start: (spawn) => {
      const child = spawnNode(SCRIPT, { ...spawn, env });
      started.push(child);
      return child;
    },
    ports: { [new URL(databaseUrl).port]: "sql", [new URL(redisUrl).port]: "redis" },
    ignore: [/^redis: brpop/],
    story: () => story(check),
  };
}

test("each call is a crash point, after which exactly the effects up to it are there, all in one process", async () => {
  const seen: string[] = [];
  const started: ChildHandle[] = [];
  const points = await crashLanes(
    options((effects, crashed) => void seen.push(`${effects.join()} ${crashed ? "killed" : "ended"}`), started),
  );
  expect(points.map(({ number, call }) => `${number} ${call.replace(/\{t-\w+\}/, "lane")}`)).toEqual([
    "1 sql: INSERT INTO effect VALUES ('lane', 1)",
    "2 sql: INSERT INTO effect VALUES ($1, 2)",
    "3 redis: set lane:effect 3",
    "4 sql: INSERT INTO effect VALUES ($1, 4)",
  ]);
  expect(seen.toSorted()).toEqual(["1 killed", "1,2 killed", "1,2,3 killed", "1,2,3,4 ended", "1,2,3,4 ended", "1,2,3,4 killed"]);
  expect(await Promise.all(started.map((child) => child.waitForExit()))).toEqual([{ code: null, signal: "SIGKILL" }]);
});

test("more calls than a process has lanes for take more processes, and none is left out", async () => {
  const started: ChildHandle[] = [];
  const points = await crashLanes({ ...options(() => undefined, started), lanes: 3 });
  expect(points.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  expect(started).toHaveLength(2);
});

test("a world that is not as it has to be fails the suite, with the call after which it is so", async () => {
  const halves: Check = (effects) => expect(effects, "what call 2 belongs with").not.toEqual([1, 2]);
  await expect(crashLanes(options(halves))).rejects.toThrow(
    /^crash after call 2 \(sql: INSERT INTO effect VALUES \(\$1, 2\)\): what call 2/,
  );
});

test("what is held is left as it is until the process is killed", async () => {
  const ends: string[] = [];
  const held: LaneStory = {
    ...story((effects, crashed) => void ends.push(`${effects.join()} ${crashed ? "killed" : "ended"}`)),
    what: "held",
    handOver: () => Promise.resolve(),
    state: () => Promise.resolve("held"),
  };
  await crashLanes({ ...options(() => undefined), beside: [held] });
  expect(ends).toEqual([" killed"]);
});

test("a connection that lanes share is a fault: nobody could say whose call it makes", async () => {
  await expect(crashLanes(options(() => undefined, [], { SHARED_CLIENT: databaseUrl }))).rejects.toThrow(
    /expected a connection to port \d+ to be of a lane, got none/,
  );
});

test("a program that does not start fails the suite with its reason", async () => {
  const broken = {
    ...options(() => undefined),
    story: () => ({ ...story(() => undefined), open: () => Promise.resolve({ DATABASE_URL: "postgresql://127.0.0.1:1/none" }) }),
  };
  await expect(crashLanes(broken)).rejects.toThrow(/run without a crash: .*ECONNREFUSED/);
});
