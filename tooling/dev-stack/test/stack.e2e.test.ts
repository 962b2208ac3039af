import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { expect, test } from "vitest";
import type { Summary } from "../src/summary.ts";
import { processesNaming, runStack, startStack } from "./run-stack.ts";

const SMALL = ["--once", "--json", "--transactions", "40"];

/** Prepares a database in which one effect goes wrong behind the product's back, and runs the sample traffic on it. */
async function runSabotaged(trigger: string): Promise<{ code: number | null; summary: Summary; stderr: string }> {
  const { url } = await createEmptyDatabase();
  await migrate({ url });
  const database = await createDatabase({ url, poolMax: 1, app: "test" });
  await database.pool.query(trigger);
  await database.close();
  const { url: REDIS_URL, prefix: QUEUE_PREFIX } = createRedisNamespace();
  return runStack([...SMALL, "--deadline", "8"], { DATABASE_URL: url, REDIS_URL, QUEUE_PREFIX });
}

test("on Redis, all sample traffic has its effect once", async () => {
  const { url: DATABASE_URL } = await createEmptyDatabase();
  const { url: REDIS_URL, prefix: QUEUE_PREFIX } = createRedisNamespace();
  const { code, summary, stderr } = await runStack(SMALL, { DATABASE_URL, REDIS_URL, QUEUE_PREFIX });
  expect(stderr).toContain("BullMQ on Redis");
  expect(code, stderr).toBe(0);
  // 40 transactions: 2 roll back (17, 34), 3 repeat a dispatch key (13, 26, 39); two more events must die.
  expect(summary).toMatchObject({
    published: 40,
    rolledBack: 2,
    duplicatesSuppressed: 3,
    deadLettered: 2,
    missing: 0,
    doubled: 0,
    drainer: "batch",
    backend: "redis",
  });
  expect(Object.values(summary.effects).reduce((sum, count) => sum + count, 0)).toBe(38);
});

test("on PostgreSQL alone, without wake-ups, all sample traffic has its effect once", async () => {
  const { url: DATABASE_URL } = await createEmptyDatabase();
  const { code, summary, stderr } = await runStack(SMALL, { DATABASE_URL, QUEUE_BACKEND: "postgres", OUTBOX_WAKEUP: "false" });
  expect(stderr).toContain("BullMQ on PostgreSQL");
  expect(code, stderr).toBe(0);
  expect(summary).toMatchObject({ published: 40, missing: 0, doubled: 0, backend: "postgres" });
});

test.each([
  ["--mode pull", ["--mode", "pull"], {}],
  ["OUTBOX_PULL_WORKER=true", [], { OUTBOX_PULL_WORKER: "true" }],
])("through pull workers, asked for by %s, all sample traffic has its effect once", async (_how, args, env) => {
  const { url: DATABASE_URL } = await createEmptyDatabase();
  const { url: REDIS_URL, prefix: QUEUE_PREFIX } = createRedisNamespace();
  const { code, summary, stderr } = await runStack([...SMALL, ...args], { DATABASE_URL, REDIS_URL, QUEUE_PREFIX, ...env });
  expect(code, stderr).toBe(0);
  expect(summary).toMatchObject({ deadLettered: 2, missing: 0, doubled: 0, drainer: "pull" });
});

test("an effect that never happens ends the run with a non-zero code", async () => {
  const { code, summary } = await runSabotaged(`
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM "Notification" WHERE id = NEW.id; RETURN NULL; END';
    CREATE TRIGGER lose AFTER INSERT ON "Notification" FOR EACH ROW EXECUTE FUNCTION lose();`);
  expect(code).toBe(1);
  expect(summary.missing).toBeGreaterThan(0);
});

test("an effect that happens twice ends the run with a non-zero code", async () => {
  const { code, summary } = await runSabotaged(`
    CREATE FUNCTION double() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
      IF NEW."recipientId" IS NOT NULL THEN
        INSERT INTO "Notification" ("id", "tenantId", "eventId", "eventType", "title") VALUES (gen_random_uuid(), NEW."tenantId", gen_random_uuid(), NEW."eventType", NEW."title");
      END IF;
      RETURN NULL;
    END';
    CREATE TRIGGER double AFTER INSERT ON "Notification" FOR EACH ROW EXECUTE FUNCTION double();`);
  expect(code).toBe(1);
  expect(summary.doubled).toBeGreaterThan(0);
});

test("Ctrl-C in the middle of the traffic stops every process that was started", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "toolctrl-stack-"));
  const child = startStack(["--once", "--transactions", "100000", "--data", dataDir], {});
  await child.waitForLine(/worker-mail\s+http/, { timeoutMs: 90_000 });
  child.kill("SIGINT");
  expect(await child.waitForExit({ timeoutMs: 40_000 })).toMatchObject({ code: 0 });
  expect(await processesNaming(dataDir)).toEqual([]);
  // The workers' command lines do not name the folder: they belong to the process group of the stack.
  expect(child.groupAlive()).toBe(false);
});
