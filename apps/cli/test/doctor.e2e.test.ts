import { createDatabase } from "@toolctrl/db/client";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { startMutePooler } from "@toolctrl/testkit/mute-pooler";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { describe, expect, onTestFinished, test } from "vitest";
import { cli } from "./cli.ts";

type Checks = ReadonlyArray<{ readonly name: string; readonly state: string; readonly said: string }>;

/** The checks that fail, `name: what was said`. */
function failuresOf(document: Record<string, unknown>): string[] {
  return (document["checks"] as Checks).filter(({ state }) => state === "fail").map(({ name, said }) => `${name}: ${said}`);
}

test("faults that come together are all on the page, each with what to do; exit code 1", async () => {
  const { url } = await createTestDatabase();
  const redis = await startRedis({ args: ["--maxmemory-policy", "allkeys-lru"] });
  const database = await createDatabase({ url, poolMax: 2, app: "test", wakeup: false });
  onTestFinished(async () => {
    await database.close();
    await redis.close();
  });
  const { pool } = database;
  await pool.query(`ALTER TABLE "OutboxReceipt" ALTER COLUMN "detail" TYPE varchar(10)`);
  await pool.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"OutboxReceipt_retention_idx"'::regclass`);
  const forgotten = await pool.connect();
  onTestFinished(() => forgotten.release(true));
  await forgotten.query("BEGIN; SELECT 1");
  const env = { DATABASE_URL: url, REDIS_URL: redis.url, OUTBOX_RESULT_TTL_SECONDS: "3600" };
  const human = await cli(["doctor", "--max-transaction", "1ms"], env);
  expect(human.code).toBe(1);
  const named: Record<string, RegExp> = {
    schema: /OutboxReceipt\.detail/,
    indexes: /OutboxReceipt_retention_idx/,
    "long transactions": /process \d+ \(test\)/,
    "eviction policy": /allkeys-lru/,
    persistence: /appendonly yes/,
    "result TTL": /3600 s against/,
    migrations: /that are not/,
    drainers: /none: events wait/,
    consumers: /mail-render/,
  };
  for (const [check, said] of Object.entries(named))
    expect(human.stdout).toMatch(new RegExp(`^${check} +fail +.*${said.source}.*\\n +fix: .+$`, "m"));
  expect(human.stdout).toMatch(/^database +ok +PostgreSQL /m);
  expect(human.stdout).toMatch(/\n\n9 failed.* of 21 checks\.\n$/);
});

describe.each([{}, { cuts: true }])("where a database takes logins and answers no query, %j", (options) => {
  test.each(["redis", "postgres"])("doctor says so on one page and ends, with the queue on %s", async (kind) => {
    const env = { QUEUE_BACKEND: kind, REDIS_URL: "redis://127.0.0.1:1", DATABASE_URL: await startMutePooler(options) };
    const result = await cli(["doctor", "--json"], env);
    const document = result.json();
    expect([result.code, document]).toMatchObject([1, { healthy: false }]);
    expect(failuresOf(document)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^database: expected the database to answer, got: /),
        expect.stringMatching(/^queue server: expected the queue's server to answer, got: /),
      ]),
    );
  });

  test.each([
    ["db", "status"],
    ["outbox", "stats"],
  ])("%s %s fails with its one document of an error", async (...command) => {
    const result = await cli([...command, "--json"], { DATABASE_URL: await startMutePooler(options) });
    expect([result.code, result.json()]).toMatchObject([1, { error: { message: expect.stringMatching(/timeout|terminated/) } }]);
  });
});

test("doctor says of a Redis that takes connections and answers nothing that it does not answer, and ends", async () => {
  const redis = await startRedis();
  const proxy = await startTcpProxy({ toPort: Number(new URL(redis.url).port) });
  onTestFinished(async () => {
    await proxy.close();
    await redis.close();
  });
  proxy.pause();
  const env = { QUEUE_BACKEND: "redis", REDIS_URL: `redis://127.0.0.1:${proxy.port}`, DATABASE_URL: (await createTestDatabase()).url };
  const result = await cli(["doctor", "--json"], env);
  expect(result.code).toBe(1);
  expect(failuresOf(result.json())).toContainEqual(expect.stringMatching(/^queue server: expected the queue's server to answer, got: /));
});
