import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { crashPoints, type CrashPointOptions, type CrashPointRun } from "../src/crash-run.ts";
import { spawnNode, type ChildHandle } from "../src/process.ts";
import { createRedisNamespace } from "../src/redis-server.ts";
import { createEmptyDatabase } from "../src/template-db.ts";
import { waitFor } from "../src/wait.ts";

const SCRIPT = new URL("./fixtures/four-calls.ts", import.meta.url);
const CALLS = [
  "sql: INSERT INTO effect VALUES (1)",
  "sql: INSERT INTO effect VALUES ($1)",
  expect.stringMatching(/^redis: set \{t-\w+\}:effect 3$/),
  "sql: INSERT INTO effect VALUES ($1)",
];

const shared = createRedisNamespace();
let pool: pg.Pool;
let redis: Redis;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = (await createEmptyDatabase()).url;
  pool = new pg.Pool({ connectionString: databaseUrl });
  await pool.query("CREATE TABLE effect (call int)");
  redis = new Redis(shared.url);
});

afterAll(async () => {
  await pool.end();
  await redis.quit();
});

function start(options: Omit<CrashPointOptions, "ports"> = {}): { run: CrashPointRun; child: ChildHandle; prefix: string } {
  const { prefix } = createRedisNamespace();
  const ports = { [new URL(databaseUrl).port]: "sql", [new URL(shared.url).port]: "redis" };
  const run = crashPoints({ ports, ...options });
  const env = { ...run.env, DATABASE_URL: databaseUrl, REDIS_URL: shared.url, PREFIX: prefix };
  return { run, child: spawnNode(SCRIPT, { nodeArgs: run.nodeArgs, env }), prefix };
}

/** The calls that took effect, once both servers have seen the last of the child. */
async function effects(prefix: string): Promise<number[]> {
  await waitFor(async () => (await pool.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'four-calls'")).rowCount === 0);
  await waitFor(async () => !String(await redis.client("LIST")).includes(`name=${prefix}`));
  const { rows } = await pool.query<{ call: number }>("DELETE FROM effect RETURNING call");
  const set = await redis.getdel(`${prefix}:effect`);
  return [...rows.map((row) => row.call), ...(set === null ? [] : [Number(set)])].toSorted((a, b) => a - b);
}

test("counting names every call in order and changes nothing", async () => {
  const { run, child, prefix } = start();
  expect(await child.waitForExit()).toEqual({ code: 0, signal: null });
  expect(await run.calls()).toEqual(CALLS);
  expect(await effects(prefix)).toEqual([1, 2, 3, 4]);
});

test.each([1, 2, 3, 4])("a process that dies after call %i has had exactly the effects up to it", async (afterCall) => {
  const { run, child, prefix } = start({ afterCall });
  expect(await child.waitForExit()).toEqual({ code: null, signal: "SIGKILL" });
  expect(await run.calls()).toEqual(CALLS.slice(0, afterCall));
  expect(await effects(prefix)).toEqual([1, 2, 3, 4].slice(0, afterCall));
});

test("a crash point behind the last call is never reached", async () => {
  const { child, prefix } = start({ afterCall: 5 });
  expect(await child.waitForExit()).toEqual({ code: 0, signal: null });
  expect(await effects(prefix)).toEqual([1, 2, 3, 4]);
});

test("ignored calls are made and not counted", async () => {
  const { run, child, prefix } = start({ afterCall: 3, ignore: [/^redis: set/] });
  expect(await child.waitForExit()).toEqual({ code: null, signal: "SIGKILL" });
  expect(await run.calls()).toEqual(CALLS.filter((_call, index) => index !== 2));
  expect(await effects(prefix)).toEqual([1, 2, 3, 4]);
});

test("counting from the start sees the call before the arming line and no handshake", async () => {
  const { run, child, prefix } = start({ arm: "start" });
  expect(await child.waitForExit()).toEqual({ code: 0, signal: null });
  expect(await run.calls()).toEqual(["redis: ping", ...CALLS]);
  expect(await effects(prefix)).toEqual([1, 2, 3, 4]);
});
