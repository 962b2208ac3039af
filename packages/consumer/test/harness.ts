import { randomUUID } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import type { KeyValueStore } from "@toolctrl/shared-store/key-value";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { onTestFinished } from "vitest";
import type { Consumer } from "../src/define.ts";
import { startConsumers } from "../src/run.ts";

export const silent = createLogger({ app: "test", level: "silent" });
export const QUEUE = "outbox.audit";
export const CONSUMER = "probe";

export interface Harness {
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly metrics: Metrics;
  readonly namespace: { url: string; prefix: string };
  start(
    consumer: Partial<Consumer> & Pick<Consumer, "handle">,
    options?: { store?: KeyValueStore; claimTtlMs?: number },
  ): { close(graceMs: number): Promise<void> };
  /** Adds the job of an event; the same id again is the queue's own duplicate, another generation is a job of its own. */
  add(envelope: Partial<JobEnvelope> & { outboxEventId: string }): Promise<void>;
  /** The same without a payload: the consumer reads the row. */
  addByReference(envelope: Partial<JobEnvelope> & { outboxEventId: string }): Promise<void>;
  jobState(eventId: string, generation?: number): Promise<{ state: string; failures: number } | null>;
  receipts(eventId: string): Promise<Array<{ outcome: string; effectEpoch: number; result: unknown; detail: string | null }>>;
}

/** A queue and a claim store of the test's own, and a database unless one is given. */
export async function createHarness(
  given: { attempts?: number; backoffMs?: number; stalledCheckMs?: number; lockMs?: number; database?: Database } = {},
): Promise<Harness> {
  const { database = await openDatabase(), ...options } = given;
  const namespace = createRedisNamespace();
  const backend = await createQueueBackend({
    kind: "redis",
    redisUrl: namespace.url,
    prefix: namespace.prefix,
    attempts: 5,
    backoffMs: 10,
    log: silent,
    ...options,
  });
  onTestFinished(() => backend.close(2000));
  const metrics = createMetrics({ processMetrics: false });
  return {
    database,
    backend,
    metrics,
    namespace,
    start(consumer, { store, claimTtlMs = 5000 } = {}) {
      const claims = store ?? openStore(namespace.url);
      const running = startConsumers({
        consumers: [{ name: CONSUMER, queue: QUEUE, concurrency: 4, ...consumer }],
        backend,
        pool: database.pool,
        store: claims,
        receiver: { ttlSeconds: 3600, claimTtlMs },
        metrics,
        log: silent,
        alerts: createAlerts({ app: "test", log: silent }),
      });
      onTestFinished(() => running.close(2000));
      return running;
    },
    add: (fields) => addJob(backend, envelopeOf(fields)),
    async addByReference(fields) {
      const { payload: _inline, ...reference } = envelopeOf(fields);
      await addJob(backend, reference);
    },
    async jobState(eventId, generation = 0) {
      return backend.find(QUEUE, jobIdFor(eventId, generation));
    },
    async receipts(eventId) {
      const { rows } = await database.pool.query(
        `SELECT "outcome", "effectEpoch", "result", "detail" FROM "OutboxReceipt" WHERE "eventId" = $1 ORDER BY "effectEpoch"`,
        [eventId],
      );
      return rows;
    },
  };
}

async function openDatabase(): Promise<Database> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 10, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  return database;
}

async function addJob(backend: QueueBackend, data: JobEnvelope): Promise<void> {
  const [added] = await backend.addAll([{ queue: QUEUE, id: jobIdFor(data.outboxEventId, data.generation), name: data.type, data }]);
  if (added?.ok !== true) throw added?.error ?? new Error("expected one answer per job");
}

export function openStore(url: string): KeyValueStore {
  const store = createRedisStore({ url, log: silent });
  onTestFinished(() => store.close());
  return store;
}

export function envelopeOf(fields: Partial<JobEnvelope> & { outboxEventId: string }): JobEnvelope {
  return {
    v: 1,
    tenantId: "acme",
    type: "audit.entry.record",
    version: 1,
    position: "1",
    generation: 0,
    effectEpoch: 0,
    payload: { n: 1 },
    correlationId: null,
    causationId: null,
    depth: 0,
    traceparent: null,
    tracestate: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    ...fields,
  };
}

export const newEventId = (): string => randomUUID();

/** Waits until the job of an event is in a state; returns the job. */
export async function untilJob(
  harness: Harness,
  eventId: string,
  state: string,
  generation = 0,
): Promise<{ state: string; failures: number }> {
  return waitFor(
    async () => {
      const job = await harness.jobState(eventId, generation);
      return job?.state === state ? job : null;
    },
    { what: `job ${eventId} (generation ${generation}) to be ${state}`, timeoutMs: 20_000 },
  );
}

/** The value of one counter line in the Prometheus text; 0 when it is absent. */
export async function counter(metrics: Metrics, line: string): Promise<number> {
  const text = await metrics.text();
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return found === undefined ? 0 : Number(found.slice(line.length + 1));
}
