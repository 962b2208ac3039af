import { randomBytes, randomUUID } from "node:crypto";
import type { Consumer } from "@toolctrl/consumer/define";
import { startConsumers, type RunningConsumers } from "@toolctrl/consumer/run";
import { createDatabase, type Database } from "@toolctrl/db/client";
import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { QueueName } from "@toolctrl/foundation/queues";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import type { KeyValueStore } from "@toolctrl/shared-store/key-value";
import { createPostgresStore } from "@toolctrl/shared-store/postgres";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { Redis } from "ioredis";

export type BackendKind = "redis" | "postgres";

/** A database, a queue and a claim store that nobody else uses, as one installation of the product has them. */
export interface Installation {
  readonly kind: BackendKind;
  readonly tenantId: string;
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly store: KeyValueStore;
  /** The server of the queue, for looking at it; undefined where that is the database. */
  readonly redis: Redis | undefined;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Life of an unrenewed claim, ms. */
  readonly claimTtlMs: number;
  /** The environment of an app's process in this installation. */
  readonly appEnv: Readonly<Record<string, string>>;
  /** The name of an app process's sessions in pg_stat_activity, whichever of its pools they are of. */
  readonly appSessions: string;
  /** Whether others have the database too: what is not this tenant's is theirs. */
  readonly shared: boolean;
  close(): Promise<void>;
}

export interface InstallationOptions {
  /** Life of an unrenewed claim, ms; default 30,000. */
  readonly claimTtlMs?: number;
  /** Wait before a job's second attempt, ms; default 10. */
  readonly backoffMs?: number;
  /** A database that installations share, each with a tenant and a queue on Redis of its own; default: one of its own. */
  readonly on?: SharedDatabase;
  /** Puts something between the consumers and their claims. */
  readonly wrapStore?: (store: KeyValueStore) => KeyValueStore;
}

/** A migrated database for several installations, which is most of what one costs. */
export interface SharedDatabase {
  readonly url: string;
  readonly database: Database;
  close(): Promise<void>;
}

const SILENT = createLogger({ app: "test", level: "silent" });

/** Makes a database for installations to share, or for one. */
export async function openSharedDatabase(): Promise<SharedDatabase> {
  const testDatabase = await createTestDatabase();
  const database = await createDatabase({ url: testDatabase.url, poolMax: 8, app: "test", wakeup: false });
  return {
    url: testDatabase.url,
    database,
    async close() {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Opens an installation. This process looks often for jobs whose worker died, as a test cannot wait for the usual 15 s. */
export async function openInstallation(kind: BackendKind, options: InstallationOptions = {}): Promise<Installation> {
  const { claimTtlMs = 30_000, backoffMs = 10, on, wrapStore = (store) => store } = options;
  const { url, database, close: closeDatabase } = on ?? (await openSharedDatabase());
  const { url: redisUrl, prefix } = createRedisNamespace();
  const queue = { prefix, attempts: 8, backoffMs, stalledCheckMs: 50, log: SILENT };
  const backend = await createQueueBackend(kind === "redis" ? { ...queue, kind, redisUrl } : { ...queue, kind, databaseUrl: url });
  const redis = kind === "redis" ? new Redis(redisUrl) : undefined;
  const store = kind === "redis" ? createRedisStore({ url: redisUrl, log: SILENT }) : createPostgresStore({ pool: database.pool });
  const tenantId = `t-${randomBytes(6).toString("hex")}`;
  const appSessions = `app-of-${tenantId}`;
  return {
    kind,
    tenantId,
    database,
    backend,
    store: wrapStore(store),
    redis,
    metrics: createMetrics({ processMetrics: false }),
    log: SILENT,
    claimTtlMs,
    appSessions,
    shared: on !== undefined,
    appEnv: {
      NODE_ENV: "test",
      DATABASE_URL: `${url}?application_name=${appSessions}`,
      QUEUE_BACKEND: kind,
      ...(kind === "redis" ? { REDIS_URL: redisUrl } : {}),
      QUEUE_PREFIX: prefix,
      OUTBOX_CLAIM_TTL_MS: String(claimTtlMs),
      OUTBOX_RECEIVER_BACKOFF_MS: String(backoffMs),
    },
    async close() {
      await backend.close(2000);
      await store.close();
      await redis?.quit();
      if (on === undefined) await closeDatabase();
    },
  };
}

/** Runs consumers in this process, with the settings an app of this installation has. */
export function runConsumers(installation: Installation, consumers: readonly Consumer[]): RunningConsumers {
  const { backend, database, store, metrics, log, claimTtlMs } = installation;
  return startConsumers({
    consumers,
    backend,
    pool: database.pool,
    store,
    receiver: { ttlSeconds: 86_400, claimTtlMs },
    metrics,
    log,
    alerts: createAlerts({ app: "test", log }),
  });
}

/** An event as the dispatcher hands it off. */
export interface HandedOff {
  readonly queue: QueueName;
  readonly type: string;
  readonly payload: JsonObject;
}

/** Which delivery of an event: a generation above 0 has a job of its own, as after a requeue. */
export interface DeliveryOptions {
  readonly eventId?: string;
  readonly generation?: number;
}

/** What the job of an event carries. */
export function envelopeOf({ tenantId }: Installation, event: HandedOff, options: DeliveryOptions = {}): JobEnvelope {
  return {
    v: 1,
    outboxEventId: options.eventId ?? randomUUID(),
    tenantId,
    type: event.type,
    version: 1,
    position: "1",
    generation: options.generation ?? 0,
    effectEpoch: 0,
    payload: event.payload,
    correlationId: null,
    causationId: null,
    depth: 0,
    traceparent: null,
    tracestate: null,
    createdAt: "2026-11-30T00:00:00.000Z",
  };
}

/** Adds the job of an event, or again the same. Returns the event's id. */
export async function deliver(installation: Installation, event: HandedOff, options: DeliveryOptions = {}): Promise<string> {
  const data = envelopeOf(installation, event, options);
  const id = jobIdFor(data.outboxEventId, data.generation);
  const [added] = await installation.backend.addAll([{ queue: event.queue, id, name: event.type, data }]);
  if (added?.ok !== true) throw added?.error ?? new Error("expected one answer per job");
  return data.outboxEventId;
}

/** Whether nothing waits, runs or is delayed in these queues. */
export async function isIdle({ backend }: Installation, queues: readonly QueueName[]): Promise<boolean> {
  const counts = await Promise.all(queues.map((queue) => backend.counts(queue)));
  return counts.every(({ waiting, active, delayed }) => waiting + active + delayed === 0);
}

/** The consumers that have finished an event, with the outcome of each: `["audit-append done"]`. */
export async function receiptsOf({ database }: Installation, eventId: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ receipt: string }>(
    `SELECT "consumer" || ' ' || "outcome" AS "receipt" FROM "OutboxReceipt" WHERE "eventId" = $1 ORDER BY 1`,
    [eventId],
  );
  return rows.map(({ receipt }) => receipt);
}
