import { createDatabase, type Database } from "@toolctrl/db/client";
import { describeError } from "@toolctrl/foundation/errors";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { assertClockSkew } from "@toolctrl/queue/clock-skew";
import type { QueueBackend } from "@toolctrl/queue/port";
import { resolveQueueBackend } from "@toolctrl/runtime/env";
import { createGuardedHttp, type GuardedHttp } from "@toolctrl/runtime/guarded-http";
import { startHealthServer, type HealthServer } from "@toolctrl/runtime/health";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { KeyValueStore } from "@toolctrl/shared-store/key-value";
import { createPostgresStore } from "@toolctrl/shared-store/postgres";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import type { WorkerEnv } from "./env.ts";

/** The one pool of a process. A drainer's attempts each hold a connection while they run, so that many more are allowed; they are opened when used. */
export function openDatabase(env: WorkerEnv, app: string, { log, metrics }: { log: Logger; metrics: Metrics }): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, OUTBOX_WAKEUP: wakeup } = env;
  const poolMax = env.DATABASE_POOL_MAX + (env.OUTBOX_DISPATCHER_ENABLED ? env.OUTBOX_PULL_PARALLELISM : 0);
  const onPoolWait = (seconds: number): void => metrics.observe("database_pool_wait_seconds", seconds);
  return createDatabase({ url, directUrl, poolMax, app, wakeup, log, onPoolWait });
}

/**
 * BullMQ where the environment says, and the log says why. Compares this machine's clock with the server's.
 * @throws CodedError `QUEUE.CLOCK_SKEW` on Postgres, where BullMQ reckons job locks by the worker's clock.
 */
export async function openBackend(env: WorkerEnv, log: Logger): Promise<QueueBackend> {
  const { kind, why } = resolveQueueBackend(env);
  log.info({ kind, why, prefix: env.QUEUE_PREFIX }, "queue backend chosen");
  const backend = await createQueueBackend({
    kind,
    redisUrl: env.REDIS_URL,
    databaseUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
    prefix: env.QUEUE_PREFIX,
    attempts: env.OUTBOX_RECEIVER_ATTEMPTS,
    backoffMs: env.OUTBOX_RECEIVER_BACKOFF_MS,
    lockMs: env.QUEUE_LOCK_MS,
    stalledCheckMs: Math.floor(env.QUEUE_LOCK_MS / 2),
    addConcurrency: env.OUTBOX_DISPATCH_CONCURRENCY,
    log,
  });
  await checkClock(backend, log);
  return backend;
}

async function checkClock(backend: QueueBackend, log: Logger): Promise<void> {
  const check = assertClockSkew(backend, log);
  if (backend.kind === "postgres") return void (await check);
  // On Redis the answer is a warning at most, and Redis may be away at boot: starting does not wait for it.
  void check.catch((error: unknown) => log.warn({ error: describeError(error) }, "could not compare the clocks"));
}

/** Where idempotency claims live: beside the queue, so that an installation without Redis needs none for this either. */
export function openStore(env: WorkerEnv, database: Database, log: Logger): KeyValueStore {
  const { kind } = resolveQueueBackend(env);
  if (kind === "redis" && env.REDIS_URL !== undefined) return createRedisStore({ url: env.REDIS_URL, prefix: env.QUEUE_PREFIX, log });
  return createPostgresStore({ pool: database.pool, log });
}

/** The one way out to other people's HTTP servers; it reaches public addresses, and those that the environment names. */
export function openHttp(env: WorkerEnv): GuardedHttp {
  return createGuardedHttp({ allow: env.OUTBOUND_HTTP_ALLOW?.split(",") ?? [] });
}

/** The probes and metrics of a worker: ready when database, queue and store answer and it is not draining. */
export function startHealth(
  env: WorkerEnv,
  deps: {
    database: Database;
    backend: QueueBackend;
    store: KeyValueStore;
    metrics: Metrics;
    log: Logger;
    isDraining: () => boolean;
    /** Facts for a person, shown by /readyz; never decide. */
    details?: () => Readonly<Record<string, unknown>>;
  },
): Promise<HealthServer> {
  const { database, backend, store } = deps;
  const checks = { database: () => database.ping(), queue: () => backend.ping(), store: () => store.ping() };
  return startHealthServer({ host: env.HEALTH_HOST, port: env.HEALTH_PORT, checks, ...deps });
}
