import { createDatabase } from "@toolctrl/db/client";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { expect, onTestFinished, test } from "vitest";
import { cli } from "./cli.ts";

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
