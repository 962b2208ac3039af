import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { createRouter, ROUTES } from "@toolctrl/event-router/router";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { spawnNode } from "@toolctrl/testkit/process";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { expect, test, vi } from "vitest";
import type { Summary } from "../src/summary.ts";
import { processesNaming, runStack, startStack } from "./run-stack.ts";

// A run starts five processes and has a deadline of its own, which names what is missing.
vi.setConfig({ testTimeout: 180_000 });

const SMALL = ["--once", "--json", "--transactions", "40"];

type Run = Awaited<ReturnType<typeof runStack>>;

function freshRedis(): { REDIS_URL: string; QUEUE_PREFIX: string } {
  const { url: REDIS_URL, prefix: QUEUE_PREFIX } = createRedisNamespace();
  return { REDIS_URL, QUEUE_PREFIX };
}

/** Prepares a database in which one effect goes wrong behind the product's back, and runs the sample traffic on it. */
async function runSabotaged(trigger: string, args: readonly string[] = []): Promise<Run> {
  const { url } = await createEmptyDatabase();
  await migrate({ url });
  const database = await createDatabase({ url, poolMax: 1, app: "test" });
  await database.pool.query(trigger);
  await database.close();
  return runStack([...SMALL, ...args], { DATABASE_URL: url, ...freshRedis() });
}

// 40 business cases: 2 roll back (17, 34), 3 repeat a dispatch key (13, 26, 39); the others are the 17 sample cases in turn, two of each.
// A paid purchase publishes 6 events, an article 8, a renamed order, an asked demo and a written digest 3, a converted lead 2, the rest one;
// two more events must die, one of them a rendered mail. What workflows publish is not the traffic's.
const WHOLE: Partial<Summary> = {
  published: 77,
  rolledBack: 2,
  duplicatesSuppressed: 3,
  deadLettered: 2,
  effects: {
    "mail-render": 9,
    "email-send": 8,
    "webhook-deliver": 12,
    "marketing-sync": 2,
    "notification-create": 13,
    "audit-append": 2,
    "search-index": 2,
    "rag-index": 2,
    "ai-cost-record": 1,
    "form-route": 2,
    "plugin-fanout": 1,
    "plugin-invoke": 1,
    "plugin-capability-count": 2,
    "workflow-trigger": 6,
    "field-sets": 2,
    "opportunity-create": 1,
  },
  missing: 0,
  doubled: 0,
};

function expectWhole({ code, summary, stderr }: Run, drainer: Summary["drainer"], backend: Summary["backend"]): void {
  expect(code, stderr).toBe(0);
  expect(summary).toMatchObject({ ...WHOLE, drainer, backend });
}

/** The routes that no event of a database has taken. */
async function routesWithoutEvents(url: string): Promise<string[]> {
  const database = await createDatabase({ url, poolMax: 1, app: "test" });
  try {
    const { rows } = await database.pool.query<{ eventType: string }>(`SELECT DISTINCT "eventType" FROM "OutboxEvent"`);
    const router = createRouter();
    const taken = new Set(rows.map(({ eventType }) => router(eventType)?.prefix));
    return ROUTES.map(({ prefix }) => prefix).filter((prefix) => !taken.has(prefix));
  } finally {
    await database.close();
  }
}

test("on Redis, all sample traffic has its effect once", async () => {
  const { url: DATABASE_URL } = await createEmptyDatabase();
  const run = await runStack(SMALL, { DATABASE_URL, ...freshRedis() });
  expect(run.stderr).toContain("BullMQ on Redis");
  expectWhole(run, "batch", "redis");
  expect(await routesWithoutEvents(DATABASE_URL)).toEqual([]);
});

test("through pull workers, all sample traffic has its effect once; a start without the vote goes back to the dispatcher", async () => {
  const env = { DATABASE_URL: (await createEmptyDatabase()).url, ...freshRedis() };
  expectWhole(await runStack([...SMALL, "--mode", "pull"], env), "pull", "redis");
  const { code, summary, stderr } = await runStack(["--once", "--json", "--transactions", "10"], env);
  expect(code, stderr).toBe(0);
  expect(summary).toMatchObject({ missing: 0, doubled: 0, drainer: "batch" });
});

test("on PostgreSQL alone, without wake-ups, all sample traffic has its effect once", async () => {
  const { url: DATABASE_URL } = await createEmptyDatabase();
  const run = await runStack(SMALL, { DATABASE_URL, QUEUE_BACKEND: "postgres", OUTBOX_WAKEUP: "false" });
  expect(run.stderr).toContain("BullMQ on PostgreSQL");
  expectWhole(run, "batch", "postgres");
});

test("on PostgreSQL alone, the vote OUTBOX_PULL_WORKER=true has pull workers drain all of it", async () => {
  const { url: DATABASE_URL } = await createEmptyDatabase();
  const run = await runStack(SMALL, { DATABASE_URL, QUEUE_BACKEND: "postgres", OUTBOX_PULL_WORKER: "true" });
  expect(run.stderr).toContain("Drainer    pull workers");
  expectWhole(run, "pull", "postgres");
});

test("a run that lost effects of a consumer and of an after-save effect, and doubled others, ends with a non-zero code and says both", async () => {
  const { code, summary } = await runSabotaged(
    `
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM "Opportunity" WHERE id = NEW.id; RETURN NULL; END';
    CREATE TRIGGER lose AFTER INSERT ON "Opportunity" FOR EACH ROW EXECUTE FUNCTION lose();
    CREATE FUNCTION lose_or_double() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
      IF NEW."recipientId" IS NULL THEN
        DELETE FROM "Notification" WHERE id = NEW.id;
      ELSE
        INSERT INTO "Notification" ("id", "tenantId", "eventId", "eventType", "title") VALUES (gen_random_uuid(), NEW."tenantId", gen_random_uuid(), NEW."eventType", NEW."title");
      END IF;
      RETURN NULL;
    END';
    CREATE TRIGGER lose_or_double AFTER INSERT ON "Notification" FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION lose_or_double();`,
    ["--mode", "pull"],
  );
  expect(code).toBe(1);
  expect(summary.effects).toMatchObject({ "opportunity-create": 0, "field-sets": 2 });
  const lost = 13 - summary.effects["notification-create"];
  expect(lost).toBeGreaterThan(0);
  expect(summary.missing).toBe(lost + 1);
  expect(summary.doubled).toBeGreaterThan(0);
});

/** What `outbox stats` says when it is called as the stack's own line tells. */
async function queuesNobodyServes(line: string): Promise<string[]> {
  const env = Object.fromEntries([...line.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]));
  const child = spawnNode(new URL("../../../apps/cli/src/main.ts", import.meta.url), { args: ["outbox", "stats", "--json"], env });
  await child.waitForExit();
  const { queues } = JSON.parse(child.stdout()) as { queues: { queue: string; consumers: number }[] };
  return queues.flatMap(({ queue, consumers }) => (consumers === 0 ? [queue] : []));
}

test("Ctrl-C in the middle of the traffic stops every process that was started", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "toolctrl-stack-"));
  const child = startStack(["--once", "--transactions", "100000", "--data", dataDir], {});
  const line = await child.waitForLine(/Operator CLI/, { timeoutMs: 90_000 });
  expect(await queuesNobodyServes(line)).toEqual([]);
  child.kill("SIGINT");
  expect(await child.waitForExit({ timeoutMs: 40_000 })).toMatchObject({ code: 0 });
  expect(await processesNaming(dataDir)).toEqual([]);
  // The workers' command lines do not name the folder: they belong to the process group of the stack.
  expect(child.groupAlive()).toBe(false);
});
