import { setTimeout as delay } from "node:timers/promises";
import { startConsumers } from "@toolctrl/consumer/run";
import { createDatabase } from "@toolctrl/db/client";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { NewJob, QueueBackend } from "@toolctrl/queue/port";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { ATTEMPTS, BACKOFF_MS, BULK_SIZE, JOB_OPTIONS, QUEUE_STREAMS, WORKER_RETENTION } from "../bull-settings.ts";
import { chunksOf } from "../chunks.ts";
import type { BenchCase, Side } from "../measure.ts";
import { notificationJobs } from "../jobs.ts";
import type { Telemetry } from "../quiet.ts";
import type { BenchServers } from "../servers.ts";

const QUEUE = "outbox.notification";
const CONCURRENCY = 100;
const POOL_MAX = 10;
const CONSUMER = "notification-create";

/** A handler that does nothing, under claim and receipt; and the same in a BullMQ worker alone. */
export async function consumeCase(servers: BenchServers, operations: number, telemetry: Telemetry): Promise<BenchCase> {
  const database = await createDatabase({ url: servers.databaseUrl, poolMax: POOL_MAX, app: "bench" });
  const backend = await createQueueBackend({
    kind: "redis",
    redisUrl: servers.redisUrl,
    prefix: "{product}",
    attempts: ATTEMPTS,
    backoffMs: BACKOFF_MS,
    log: telemetry.log,
  });
  const store = createRedisStore({ url: servers.redisUrl, log: telemetry.log });
  const redis = new Redis(servers.redisUrl, { maxRetriesPerRequest: null });
  const jobs = notificationJobs(operations);
  const context = { backend, pool: database.pool, store, receiver: { ttlSeconds: 86_400, claimTtlMs: 30_000 }, ...telemetry };
  return {
    name: "consume",
    title: "no-op consumer with claim and receipt ÷ BullMQ no-op worker",
    unit: "jobs",
    operations,
    target: 0.5,
    settings: { concurrency: CONCURRENCY, store: "redis", receipts: "postgres", DATABASE_POOL_MAX: POOL_MAX },
    baseline: workerSide(servers, redis, jobs),
    product: consumerSide(servers, context, jobs),
    async close() {
      await redis.quit();
      await store.close();
      await backend.close(5000);
      await database.close();
    },
  };
}

function workerSide(servers: BenchServers, connection: Redis, jobs: readonly NewJob[]): Side {
  const queue = new Queue(QUEUE, { connection, prefix: "{raw}", defaultJobOptions: JOB_OPTIONS, streams: QUEUE_STREAMS });
  return {
    label: "BullMQ worker",
    async prepare() {
      await servers.emptyRedis();
      await queue.obliterate({ force: true });
      await servers.emptyTables("OutboxReceipt");
      for (const chunk of chunksOf(jobs, BULK_SIZE))
        await queue.addBulk(chunk.map(({ name, data, id }) => ({ name, data, opts: { jobId: id } })));
    },
    async run() {
      let runs = 0;
      const worker = new Worker(QUEUE, async () => void (runs += 1), {
        connection,
        prefix: "{raw}",
        concurrency: CONCURRENCY,
        ...WORKER_RETENTION,
      });
      worker.on("error", (error) => process.stderr.write(`${String(error)}\n`));
      await untilDrained(
        () => runs,
        jobs.length,
        async () => (await queue.getActiveCount()) + (await queue.getWaitingCount()),
      );
      await worker.close();
    },
    verify: async () => undefined,
  };
}

type ConsumerContext = Omit<Parameters<typeof startConsumers>[0], "consumers">;

function consumerSide(servers: BenchServers, context: ConsumerContext & { backend: QueueBackend }, jobs: readonly NewJob[]): Side {
  let runs = 0;
  return {
    label: "consumer",
    async prepare() {
      await servers.emptyRedis();
      await context.backend.obliterate(QUEUE);
      await servers.emptyTables("OutboxReceipt");
      for (const chunk of chunksOf(jobs, BULK_SIZE)) await context.backend.addAll(chunk);
    },
    async run() {
      runs = 0;
      const handle = async (): Promise<{ kind: "done" }> => {
        runs += 1;
        return { kind: "done" };
      };
      const running = startConsumers({ ...context, consumers: [{ name: CONSUMER, queue: QUEUE, concurrency: CONCURRENCY, handle }] });
      await untilDrained(
        () => runs,
        jobs.length,
        async () => {
          const { active, waiting } = await context.backend.counts(QUEUE);
          return active + waiting;
        },
      );
      await running.close(5000);
    },
    async verify() {
      const { rows } = await servers.admin.query<{ receipts: number }>(
        `SELECT count(*)::int AS receipts FROM "OutboxReceipt" WHERE "outcome" = 'done'`,
      );
      if (runs !== jobs.length || rows[0]?.receipts !== jobs.length)
        throw new Error(`expected ${jobs.length} runs and receipts, got ${runs} and ${rows[0]?.receipts}`);
    },
  };
}

/** Waits for the handlers, cheaply, then for the queue to have no open job left. */
async function untilDrained(runs: () => number, expected: number, open: () => Promise<number>): Promise<void> {
  while (runs() < expected) await delay(5);
  while ((await open()) > 0) await delay(2);
}
