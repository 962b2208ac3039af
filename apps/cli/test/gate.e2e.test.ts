import { createProvenPackage, type ProvenPackage } from "@toolctrl/consumer-map/testing";
import { createDatabase } from "@toolctrl/db/client";
import { createRedisNamespace, startRedis } from "@toolctrl/testkit/redis-server";
import { createEmptyDatabase, createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CLI_WITH_PARTS, cli as runCli, type CliResult } from "./cli.ts";

const NOT_VALID = `ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check",
  ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`;
const DRIFT = `ALTER TABLE "OutboxReceipt" ALTER COLUMN "detail" TYPE varchar(10)`;

interface Condition {
  readonly name: string;
  readonly state: string;
  readonly reasons: ReadonlyArray<{ readonly why: string; readonly fix: string }>;
}

let proven: ProvenPackage;
/** A good installation: migrated, proven, on a Redis that evicts nothing and keeps a file. */
let good: Record<string, string>;

beforeAll(async () => {
  proven = await createProvenPackage();
  good = { DATABASE_URL: (await createTestDatabase()).url, REDIS_URL: await redisWith("--appendonly", "yes"), MAP_FOLDER: proven.folder };
});
afterAll(() => proven.remove());

const started: Array<{ close(): Promise<void> }> = [];
afterAll(async () => void (await Promise.all(started.map((server) => server.close()))));

async function redisWith(...args: string[]): Promise<string> {
  const server = await startRedis({ args });
  started.push(server);
  return server.url;
}

const gate = (env: Record<string, string>): Promise<CliResult> => runCli(["outbox", "gate", "--json"], { ...good, ...env }, CLI_WITH_PARTS);

/** What is not green, `name state`, with why. */
function complaintsOf(result: CliResult): Record<string, string[]> {
  const { conditions } = result.json() as { conditions: Condition[] };
  for (const { fix } of conditions.flatMap(({ reasons }) => reasons)) expect(fix).not.toBe("");
  return Object.fromEntries(
    conditions
      .filter(({ state }) => state !== "green")
      .map(({ name, state, reasons }) => [`${name} ${state}`, reasons.map(({ why }) => why)]),
  );
}

/** A migrated database with something done to it. */
async function damaged(statement: string): Promise<string> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 1, app: "test", wakeup: false });
  await database.pool.query(statement);
  await database.close();
  return url;
}

test("on a good installation it is green: exit code 0, each condition named, for people and for scripts", async () => {
  const [json, human] = await Promise.all([gate({}), runCli(["outbox", "gate"], good, CLI_WITH_PARTS)]);
  expect([json.code, json.json()]).toMatchObject([0, { green: true, queueError: null }]);
  expect(complaintsOf(json)).toEqual({});
  expect([human.code, human.stdout]).toEqual([0, expect.stringMatching(/^consumer map +green$[^]+^persistence +green$[^]+^Green: /m)]);
});

test("on a database without tables it is red, and names each", async () => {
  const result = await gate({ DATABASE_URL: (await createEmptyDatabase()).url });
  expect(result.code).toBe(6);
  expect(complaintsOf(result)["schema red"]).toContain("table OutboxDrainer is missing");
});

describe("a single fault turns it red, with its reason alone and exit code 6", () => {
  test.each<[string, () => Promise<Record<string, string>> | Record<string, string>, Record<string, unknown>]>([
    [
      "a consumer without evidence",
      async () => {
        const { folder, remove } = await createProvenPackage({ except: ["webhook-deliver"] });
        onTestFinished(remove);
        return { MAP_FOLDER: folder };
      },
      { "consumer map red": [expect.stringMatching(/^webhook-deliver: nothing shows that it is safe/)] },
    ],
    [
      "a constraint that is not validated",
      async () => ({ DATABASE_URL: await damaged(NOT_VALID) }),
      { "record keys red": [expect.stringContaining("not validated")] },
    ],
    [
      "a result TTL below the retry horizon of the workers' settings",
      () => ({ OUTBOX_MAX_RETRIES: "100", OUTBOX_RESULT_TTL_SECONDS: "86400" }),
      { "result TTL red": [expect.stringMatching(/got 86400 s against \d{6,} s$/)] },
    ],
    [
      "a column of another type",
      async () => ({ DATABASE_URL: await damaged(DRIFT) }),
      { "schema red": [expect.stringContaining("OutboxReceipt.detail")] },
    ],
    [
      "a Redis that evicts",
      async () => ({ REDIS_URL: await redisWith("--appendonly", "yes", "--maxmemory-policy", "allkeys-lru") }),
      { "eviction policy red": [expect.stringMatching(/noeviction.+allkeys-lru/)] },
    ],
    [
      "a Redis without an append-only file",
      () => ({ REDIS_URL: createRedisNamespace().url }),
      { "persistence red": [expect.stringMatching(/appendonly yes.+got no/)] },
    ],
  ])("%s", async (_fault, plant, complaints) => {
    const result = await gate(await plant());
    expect(complaintsOf(result)).toEqual(complaints);
    expect([result.code, result.json()["green"]]).toEqual([6, false]);
  });
});

test("two faults at once are both listed, each with what to do", async () => {
  const env = { ...good, DATABASE_URL: await damaged(`${NOT_VALID}; ${DRIFT}`) };
  const human = await runCli(["outbox", "gate"], env, CLI_WITH_PARTS);
  expect(human.code).toBe(6);
  expect(human.stdout).toMatch(/^record keys +red +expected .+\n +next: run `toolctrl-cli outbox backfill-record-key`$/m);
  expect(human.stdout).toMatch(/^schema +red +expected .+\n +next: run `toolctrl-cli db migrate`/m);
  expect(human.stdout).toContain("Red: 2 conditions to mend");
});

test("where Redis may not be asked its answers are unknown: listed, and no obstacle", async () => {
  const result = await gate({ REDIS_URL: await redisWith("--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config", "-info") });
  expect(complaintsOf(result)).toEqual({
    "eviction policy unknown": [expect.stringContaining("NOPERM")],
    "persistence unknown": [expect.stringContaining("NOPERM")],
  });
  expect([result.code, result.json()["green"]]).toEqual([0, true]);
});

describe("what could not be asked is no answer", () => {
  test("a database that is away ends with exit code 1", async () => {
    const env = { DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/x", REDIS_URL: good["REDIS_URL"] };
    const result = await runCli(["outbox", "gate", "--json"], env);
    expect(result.code).toBe(1);
    expect(result.json()).toMatchObject({ error: { message: expect.any(String) } });
    expect(result.stdout + result.stderr).not.toContain("secret");
  });

  test("a Redis that is away ends with exit code 1 and the other answers; with 6 where one of those is red", async () => {
    const away = { REDIS_URL: "redis://127.0.0.1:1" };
    const [alone, withRed] = await Promise.all([gate(away), gate({ ...away, OUTBOX_RESULT_TTL_SECONDS: "60" })]);
    expect([alone.code, alone.json()]).toMatchObject([1, { green: false, queueError: expect.any(String) }]);
    expect(Object.keys(complaintsOf(alone))).toEqual(["eviction policy unknown", "persistence unknown"]);
    expect([withRed.code, Object.keys(complaintsOf(withRed))]).toEqual([6, expect.arrayContaining(["result TTL red"])]);
  });

  test("settings that are none end with exit code 2", async () => {
    expect((await gate({ OUTBOX_LEASE_MS: "soon" })).code).toBe(2);
  });
});
