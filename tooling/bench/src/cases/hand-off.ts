import { createDatabase, type Database } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createBatchDispatcher, type BatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { NewJob, QueueBackend } from "@toolctrl/queue/port";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { ATTEMPTS, BACKOFF_MS, BULK_SIZE, JOB_OPTIONS, QUEUE_STREAMS } from "../bull-settings.ts";
import { chunksOf } from "../chunks.ts";
import type { BenchCase, Side } from "../measure.ts";
import type { Telemetry } from "../quiet.ts";
import type { BenchServers } from "../servers.ts";

const TENANTS = 10;
const QUEUE = "outbox.notification";
/** OUTBOX_DISPATCH_BATCH_SIZE, of which each of the two lanes gets half; the default of 100 is for latency. */
const BATCH_SIZE = 1000;
const SETTINGS = { intervalMs: 1000, batchSize: BATCH_SIZE, concurrency: 10, maxRetries: 6, leaseMs: 300_000, crashBudget: 6 };

/** What is due, handed to BullMQ by the dispatcher's own tick; and the same jobs added by BullMQ alone. */
export async function handOffCase(servers: BenchServers, operations: number, telemetry: Telemetry): Promise<BenchCase> {
  const database = await createDatabase({ url: servers.databaseUrl, poolMax: 10, app: "bench" });
  const backend = await createQueueBackend({
    kind: "redis",
    redisUrl: servers.redisUrl,
    prefix: "{product}",
    attempts: ATTEMPTS,
    backoffMs: BACKOFF_MS,
    log: telemetry.log,
  });
  const dispatcherOn = (queue: Pick<QueueBackend, "addAll" | "ping">): BatchDispatcher =>
    createBatchDispatcher({ pool: database.pool, router: createRouter(), backend: queue, settings: SETTINGS, ...telemetry });
  const jobs = await captureJobs(servers, operations, dispatcherOn);
  const redis = new Redis(servers.redisUrl, { maxRetriesPerRequest: null });
  return {
    name: "hand-off",
    title: "hand-off by the batch dispatcher ÷ BullMQ addBulk of the same jobs",
    unit: "events",
    operations,
    target: 0.8,
    settings: { OUTBOX_DISPATCH_BATCH_SIZE: BATCH_SIZE, tenants: TENANTS, addBulkSize: BULK_SIZE, payloadBytes: payloadBytes(jobs) },
    baseline: addBulkSide(servers, redis, jobs),
    product: dispatcherSide(servers, database, backend, dispatcherOn(backend), operations),
    async close() {
      await redis.quit();
      await backend.close(5000);
      await database.close();
    },
  };
}

function dispatcherSide(
  servers: BenchServers,
  database: Database,
  backend: QueueBackend,
  dispatcher: BatchDispatcher,
  operations: number,
): Side {
  return {
    label: "batch dispatcher",
    async prepare() {
      await servers.emptyRedis();
      await backend.obliterate(QUEUE);
      await loadEvents(servers, operations);
    },
    async run() {
      const report = await dispatcher.tick();
      if (report.done !== operations)
        throw new Error(`expected ${operations} events to be handed off by one tick, got ${JSON.stringify(report)}`);
    },
    async verify() {
      const { rows } = await database.pool.query<{ left: number }>(
        `SELECT count(*)::int AS left FROM "OutboxEvent" WHERE "status" <> 'DONE'`,
      );
      const { waiting } = await backend.counts(QUEUE);
      if (rows[0]?.left !== 0 || waiting !== operations)
        throw new Error(`expected ${operations} jobs and no open event, got ${waiting} and ${rows[0]?.left}`);
    },
  };
}

function addBulkSide(servers: BenchServers, connection: Redis, jobs: readonly NewJob[]): Side {
  const queue = new Queue(QUEUE, { connection, prefix: "{raw}", defaultJobOptions: JOB_OPTIONS, streams: QUEUE_STREAMS });
  const chunks = chunksOf(
    jobs.map(({ name, data, id }) => ({ name, data, opts: { jobId: id } })),
    BULK_SIZE,
  );
  return {
    label: "BullMQ addBulk",
    async prepare() {
      await servers.emptyRedis();
      await queue.obliterate({ force: true });
      await servers.emptyTables("OutboxEvent");
    },
    async run() {
      for (const chunk of chunks) await queue.addBulk(chunk);
    },
    async verify() {
      const waiting = await queue.getWaitingCount();
      if (waiting !== jobs.length) throw new Error(`expected ${jobs.length} waiting jobs, got ${waiting}`);
    },
  };
}

/** Events that are due, in insert order over the tenants in turn, with statistics as autovacuum leaves them. */
async function loadEvents(servers: BenchServers, operations: number): Promise<void> {
  const { admin } = servers;
  await admin.query(`TRUNCATE "OutboxEvent"`);
  await admin.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "scheduledAt")
     SELECT gen_random_uuid(), 'tenant-' || n % $2, 'notification.message.create',
       jsonb_build_object('recipientId', 'user-' || n, 'title', 'Invoice ' || n || ' was paid', 'body', 'EUR 1,250.00 came in today. ' || repeat('x', 150)),
       clock_timestamp() FROM generate_series(1, $1::int) AS n`,
    [operations, TENANTS],
  );
  await admin.query(`VACUUM (ANALYZE) "OutboxEvent"`);
}

/** The jobs the dispatcher makes, taken from it, so that both sides add the same. */
async function captureJobs(
  servers: BenchServers,
  operations: number,
  dispatcherOn: (queue: Pick<QueueBackend, "addAll" | "ping">) => BatchDispatcher,
): Promise<NewJob[]> {
  await loadEvents(servers, operations);
  const jobs: NewJob[] = [];
  await dispatcherOn({
    addAll: async (added) => {
      jobs.push(...added);
      return added.map(() => ({ ok: true }) as const);
    },
    ping: async () => undefined,
  }).tick();
  return jobs;
}

function payloadBytes(jobs: readonly NewJob[]): number {
  const data = jobs[0]?.data as { payload?: unknown } | undefined;
  return JSON.stringify(data?.payload ?? null).length;
}
