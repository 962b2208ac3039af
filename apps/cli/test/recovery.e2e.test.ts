import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvents } from "@toolctrl/db/outbox";
import { createRouter } from "@toolctrl/event-router/router";
import { createBatchDispatcher, type BatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { cli } from "./cli.ts";

const WORKER = new URL("../../worker-general/src/main.ts", import.meta.url);
const log = createLogger({ app: "test", level: "silent" });

async function openInstallation() {
  const { url } = await createTestDatabase();
  const redis = await startRedis();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  const env = {
    DATABASE_URL: url,
    REDIS_URL: redis.url,
    QUEUE_PREFIX: "{recovery}",
    OUTBOX_DISPATCHER_ENABLED: "true",
    OUTBOX_DISPATCH_INTERVAL_MS: "50",
    OUTBOX_RECEIVER_ATTEMPTS: "2",
    OUTBOX_RECEIVER_BACKOFF_MS: "20",
  };
  const backend = await createQueueBackend({ kind: "redis", redisUrl: redis.url, prefix: "{recovery}", attempts: 2, backoffMs: 20, log });
  onTestFinished(async () => {
    await backend.close(2000);
    await database.close();
    await redis.stop();
  });
  return { database, env, backend, redis };
}

async function startWorker(env: Record<string, string>): Promise<ChildHandle> {
  const worker = spawnNode(WORKER, { env });
  await worker.waitForLine(/health server listens/);
  return worker;
}

function publish(database: Database, count: number): Promise<string[]> {
  return database.prisma.$transaction(async (tx) => {
    const events = Array.from({ length: count }, (_, index) => ({ tenantId: "acme", type: "billing.invoice.paid", payload: { index } }));
    return (await publishOutboxEvents(tx, events)).map((event) => event.id);
  });
}

function dispatcherOf(database: Database, backend: QueueBackend): BatchDispatcher {
  return createBatchDispatcher({
    pool: database.pool,
    router: createRouter(),
    backend,
    settings: { intervalMs: 1000, batchSize: 100, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 },
    metrics: createMetrics({ processMetrics: false }),
    alerts: createAlerts({ app: "test", log }),
    log,
  });
}

async function countRows(database: Database, sql: string): Promise<number> {
  return (await database.pool.query(sql)).rowCount ?? 0;
}

test("a job that is dead and kept runs again exactly once after requeue, and trace tells the story before and after", async () => {
  const { database, env, backend } = await openInstallation();
  await database.pool.query(`ALTER TABLE "Notification" ADD CONSTRAINT "receiver_broken" CHECK (false) NOT VALID`);
  await startWorker(env);
  const [id = ""] = await publish(database, 1);
  await waitFor(() => countRows(database, `SELECT 1 FROM "OutboxReceipt" WHERE "outcome" = 'dead'`), {
    timeoutMs: 30_000,
    what: "the consumer to give up",
  });
  await waitFor(async () => (await backend.find("outbox.notification", jobIdFor(id)))?.state === "failed", {
    what: "the failed job to be kept",
  });

  const before = (await cli(["outbox", "trace", id, "--json"], env)).json();
  expect(before).toMatchObject({
    verdict: { state: "dead", why: expect.stringContaining("receiver_broken"), next: expect.stringContaining("outbox requeue") },
    jobs: [{ jobId: `outbox-${id}`, view: { state: "failed" } }],
  });
  const names = (before["steps"] as Array<{ step: string }>).map((step) => step.step);
  expect(names.indexOf("published")).toBeLessThan(names.indexOf("handed-off"));
  expect(names).toContain("receipt");

  await database.pool.query(`ALTER TABLE "Notification" DROP CONSTRAINT "receiver_broken"`);
  const requeued = await cli(["outbox", "requeue", id, "--json", "--reason", "constraint dropped"], env);
  expect([requeued.code, requeued.json()]).toEqual([
    0,
    expect.objectContaining({ events: [expect.objectContaining({ outcome: "requeued", willRun: ["notification-create"] })] }),
  ]);
  await waitFor(() => countRows(database, `SELECT 1 FROM "OutboxReceipt" WHERE "outcome" = 'done'`), {
    timeoutMs: 30_000,
    what: "the receipt",
  });
  expect(await countRows(database, `SELECT 1 FROM "Notification"`)).toBe(1);
  await waitFor(async () => (await backend.find("outbox.notification", jobIdFor(id, 1)))?.state === "completed", {
    what: "the new job to end",
  });

  const after = await cli(["outbox", "trace", id], env);
  expect(after.stdout).toContain("finished: handed off, and every consumer of its route has its receipt");
  expect(after.stdout).toMatch(/action +requeue from DONE by .*: constraint dropped/);
  expect(after.stdout).toContain(`outbox-${id}-1 in outbox.notification completed`);

  // Once more: the receipt holds the consumer back, and the operator is told so first.
  const again = await cli(["outbox", "requeue", id], env);
  expect(again.stderr).toContain("notification-create has a receipt and stays suppressed");
  await waitFor(async () => (await backend.find("outbox.notification", jobIdFor(id, 2)))?.state === "completed", {
    what: "the third job to end",
  });
  expect(await countRows(database, `SELECT 1 FROM "Notification"`)).toBe(1);

  // And on purpose.
  expect((await cli(["outbox", "requeue", id, "--replay", "--consumer", "notification-create"], env)).code).toBe(0);
  await waitFor(async () => (await countRows(database, `SELECT 1 FROM "Notification"`)) === 2, {
    timeoutMs: 30_000,
    what: "the repeated row",
  });
});

test("reconcile finds what a flush of Redis lost, and only then; --apply sends it out again, and each event has its effect once", async () => {
  const { database, env, backend, redis } = await openInstallation();
  await publish(database, 3);
  await dispatcherOf(database, backend).tick();
  const look = ["outbox", "reconcile", "--older-than", "0s"];
  expect((await cli([...look, "--json"], env)).json()).toMatchObject({ looked: 3, underWay: 3, lost: [] });
  await redis.stop();
  expect(await cli(look, env)).toMatchObject({ code: 1, stderr: expect.stringContaining("QUEUE.UNREACHABLE") });
  await redis.start();
  const found = await cli(look, env);
  expect([found.code, found.stdout]).toEqual([0, expect.stringContaining("Looked at 3 handed-off events: 0 under way, 3 lost.")]);
  expect(found.stdout).toContain("--apply sends them out again");
  expect(await countRows(database, `SELECT 1 FROM "OutboxEvent" WHERE "status" = 'DONE'`)).toBe(3);
  const applied = await cli([...look, "--since", "1h", "--apply", "--actor", "ann", "--reason", "flushed", "--json"], env);
  expect(applied.json()).toMatchObject({ lost: [{ requeued: true }, { requeued: true }, { requeued: true }] });
  expect(await countRows(database, `SELECT 1 FROM "OutboxAction" WHERE "actor" = 'ann' AND "reason" = 'flushed' AND "affected" = 3`)).toBe(
    1,
  );
  await startWorker(env);
  await waitFor(async () => (await countRows(database, `SELECT 1 FROM "OutboxReceipt" WHERE "outcome" = 'done'`)) === 3, {
    timeoutMs: 30_000,
    what: "3 receipts",
  });
  expect(await countRows(database, `SELECT 1 FROM "Notification"`)).toBe(3);
});

const OF_ANOTHER_QUEUE: Array<[string, Record<string, string | undefined>]> = [
  ["the queue on PostgreSQL, as no REDIS_URL is set", { REDIS_URL: undefined }],
  ["another QUEUE_PREFIX", { QUEUE_PREFIX: "{other}" }],
];

test.each(OF_ANOTHER_QUEUE)(
  "asked of %s, nothing is taken for lost or sent out again, and the queue that is meant is named",
  async (_what, wrong) => {
    const { database, env: right, backend } = await openInstallation();
    const [id = ""] = await publish(database, 1);
    await dispatcherOf(database, backend).tick();
    const env = { ...right, ...wrong };
    const reconcile = ["outbox", "reconcile", "--older-than", "0s"];
    expect((await cli(reconcile, env)).stderr).toMatch(
      /warning: no live process has said which queue it uses; this command asks (redis|postgres), prefix/,
    );

    await database.pool.query(
      `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "queueBackend", "queuePrefix", "queues", "aliveUntil")
     VALUES (gen_random_uuid(), 'worker-general', 'here', 1, 'redis', '{recovery}', '{outbox.notification}', clock_timestamp() + interval '1 hour')`,
    );
    for (const args of [
      [...reconcile, "--apply"],
      ["outbox", "probe", "--timeout", "1ms"],
      ["outbox", "gate"],
    ]) {
      const refused = await cli([...args, "--json"], env);
      expect([args, refused.code, refused.json()]).toEqual([
        args,
        2,
        {
          error: {
            code: "QUEUE.MISMATCH",
            message: expect.stringMatching(
              /^expected the queue of .*\(redis, prefix \{recovery\}: worker-general on here, pid 1\), got (redis|postgres), prefix/,
            ),
            fix: expect.stringContaining("REDIS_URL"),
            facts: expect.objectContaining({ queueBackend: "redis", queuePrefix: "{recovery}" }),
          },
        },
      ]);
    }
    expect(await countRows(database, `SELECT 1 FROM "OutboxEvent" WHERE "status" = 'DONE' AND "generation" = 0`)).toBe(1);
    expect(await countRows(database, `SELECT 1 FROM "OutboxEvent"`)).toBe(1);

    const trace = await cli(["outbox", "trace", id], env);
    expect([trace.code, trace.stdout]).toEqual([
      0,
      expect.stringContaining("handed-off: handed off; the queue could not be asked about its job"),
    ]);
    expect(trace.stdout).not.toContain("is not in outbox.notification");
    for (const { stderr } of [trace, await cli(["outbox", "stats"], env)])
      expect(stderr).toMatch(/^warning: expected the queue of .*worker-general.*, got .*\nnext: .*REDIS_URL/m);
    expect((await cli([...reconcile, "--json"], right)).json()).toMatchObject({ underWay: 1, lost: [] });
  },
);

test("a DONE range whose jobs a flush of Redis lost is requeued, and each event has its effect once", async () => {
  const { database, env, backend, redis } = await openInstallation();
  const dispatcher = dispatcherOf(database, backend);
  await publish(database, 20);
  await dispatcher.tick();
  expect(await countRows(database, `SELECT 1 FROM "OutboxEvent" WHERE "status" = 'DONE'`)).toBe(20);
  await redis.stop();
  await redis.start();
  expect(await backend.counts("outbox.notification")).toMatchObject({ waiting: 0 });

  const lost = await cli(["outbox", "list", "--status", "DONE", "--limit", "1", "--json"], env);
  const [event] = lost.json()["events"] as Array<{ id: string }>;
  expect((await cli(["outbox", "trace", event?.id ?? "", "--json"], env)).json()).toMatchObject({ verdict: { state: "no-consumer" } });
  await startWorker(env);
  expect((await cli(["outbox", "trace", event?.id ?? "", "--json"], env)).json()).toMatchObject({
    verdict: { state: "lost", next: expect.stringContaining("outbox requeue") },
  });

  const result = await cli(["outbox", "requeue", "--status", "DONE", "--from", "1h", "--yes", "--json"], env);
  expect([result.code, result.json()]).toEqual([0, expect.objectContaining({ matched: 20, changed: 20 })]);
  await waitFor(async () => (await countRows(database, `SELECT 1 FROM "OutboxReceipt" WHERE "outcome" = 'done'`)) === 20, {
    timeoutMs: 30_000,
    what: "20 receipts",
  });
  expect(await countRows(database, `SELECT DISTINCT "eventId" FROM "Notification"`)).toBe(20);
  expect(await countRows(database, `SELECT 1 FROM "Notification"`)).toBe(20);
});
