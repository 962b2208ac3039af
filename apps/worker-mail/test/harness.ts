import { startConsumers } from "@toolctrl/consumer/run";
import type { Consumer } from "@toolctrl/consumer/define";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createRouter } from "@toolctrl/event-router/router";
import { jobEnvelopeSchema, type JobEnvelope } from "@toolctrl/foundation/envelope";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { QueueName } from "@toolctrl/foundation/queues";
import { requeueEvents } from "@toolctrl/outbox-drainer/actions";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { createEmailSend } from "../src/email-send.ts";
import { createMailRender } from "../src/mail-render.ts";
import { createMarketingSync, type MarketingSyncDeps } from "../src/marketing-sync.ts";
import { createWebhookDeliver, type WebhookDeliverDeps } from "../src/webhook-deliver.ts";

export const silent = createLogger({ app: "test", level: "silent" });
/** Encrypts the endpoints' secrets. */
export const SECRETS_KEY = Buffer.alloc(32, 7).toString("base64");
export const TENANT = "acme";
const alerts = createAlerts({ app: "test", log: silent });
const router = createRouter();

export interface Receipt {
  readonly consumer: string;
  readonly outcome: string;
  readonly effectEpoch: number;
  readonly detail: string | null;
}

export interface IntentRow {
  readonly consumer: string;
  readonly target: string;
  readonly effectEpoch: number;
  readonly state: string;
  readonly externalId: string;
  readonly attempts: number;
  readonly unknowns: number;
  readonly lastErrorCode: string | null;
  readonly waitMs: number | null;
}

export type Harness = Awaited<ReturnType<typeof createHarness>>;

/** A database, a queue and a claim store of the test's own, and the real way of an event into its queue. */
export async function createHarness(
  options: {
    kind?: "redis" | "postgres";
    attempts?: number;
    backoffMs?: number;
    claimTtlMs?: number;
    lockMs?: number;
    stalledCheckMs?: number;
  } = {},
) {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 15, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  const namespace = createRedisNamespace();
  const { kind = "redis", attempts = 4, backoffMs = 10, claimTtlMs = 2000, lockMs = 2000, stalledCheckMs = 300 } = options;
  const openBackend = () =>
    createQueueBackend({
      kind,
      redisUrl: namespace.url,
      databaseUrl: url,
      prefix: namespace.prefix,
      attempts,
      backoffMs,
      lockMs,
      stalledCheckMs,
      log: silent,
    });
  const backend = await openBackend();
  onTestFinished(() => backend.close(2000));
  const metrics = createMetrics({ processMetrics: false });
  const { pool, prisma } = database;
  const settings = { intervalMs: 1000, batchSize: 100, concurrency: 10, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  const dispatcher = createBatchDispatcher({ pool, router, backend, settings, metrics, alerts, log: silent });
  const deps = { database, backend, metrics, namespace, url };
  return {
    ...deps,
    start: (...consumers: Consumer[]) => {
      const store = createRedisStore({ url: namespace.url, log: silent });
      const running = startConsumers({
        consumers,
        backend,
        pool,
        store,
        receiver: { ttlSeconds: 3600, claimTtlMs },
        metrics,
        log: silent,
        alerts,
      });
      onTestFinished(async () => {
        await running.close(2000);
        await store.close();
      });
      return running;
    },
    mailRender: () =>
      createMailRender({ pool, backend, concurrency: 5, defaultFrom: "noreply@toolctrl.test", messageIdDomain: "mail.toolctrl.test" }),
    emailSend: (smtpPort: number, sendDeadlineMs = 1500) =>
      createEmailSend({
        pool,
        server: { host: "127.0.0.1", port: smtpPort, secure: false, startTls: "opportunistic", auth: null },
        concurrency: 5,
        sendDeadlineMs,
        messageIdDomain: "mail.toolctrl.test",
        metrics,
        log: silent,
      }),
    webhookDeliver: (ports: number[], overrides: Partial<WebhookDeliverDeps> = {}) => {
      const http = createGuardedHttp({ allow: ports.map((port) => `127.0.0.1:${port}`) });
      onTestFinished(() => http.close());
      const defaults = {
        secretsKey: SECRETS_KEY,
        concurrency: 5,
        deadlineMs: 1500,
        maxAttempts: 3,
        backoffMs: 20,
        maxRetryAfterMs: 3_600_000,
      };
      return createWebhookDeliver({ pool, http, metrics, log: silent, ...defaults, ...overrides });
    },
    marketingSync: (port: number, overrides: Partial<MarketingSyncDeps> = {}) => {
      const http = createGuardedHttp({ allow: [`127.0.0.1:${port}`] });
      onTestFinished(() => http.close());
      const provider = { url: `http://127.0.0.1:${port}/v1/`, token: "provider-token" };
      const defaults = { provider, concurrency: 5, deadlineMs: 20_000, maxAttempts: 3, backoffMs: 20, maxRetryAfterMs: 3_600_000 };
      return createMarketingSync({ pool, http, metrics, log: silent, ...defaults, ...overrides });
    },
    /** Publishes in a transaction and hands the event off; returns its id. */
    async publish(type: string, payload: JsonObject, tenantId = TENANT): Promise<string> {
      const { id } = await prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type, payload }));
      await dispatcher.tick();
      return id;
    },
    /** Hands off what was published elsewhere. */
    handOff: () => dispatcher.tick(),
    /** What the operator does. */
    async requeue(id: string, replayConsumer?: string): Promise<void> {
      const replay = replayConsumer === undefined ? {} : { replay: { consumer: replayConsumer } };
      const { events } = await requeueEvents({ pool, router }, { ids: [id], actor: "test", ...replay });
      if (events[0]?.outcome !== "requeued") throw new Error(`expected ${id} to be requeued, got ${JSON.stringify(events)}`);
      await dispatcher.tick();
    },
    /** The same job again, as a redelivery after its kept copy is gone. */
    async redeliver(queue: QueueName, id: string): Promise<void> {
      const job = await readJob(namespace, queue, id);
      await backend.obliterate(queue);
      const [added] = await backend.addAll([{ queue, id, name: job.name, data: job.data }]);
      if (added?.ok !== true) throw added?.error ?? new Error("expected one answer per job");
    },
    /** A second job of the same event, of the next generation, beside the first. */
    async copyJob(queue: QueueName, id: string, copyId: string): Promise<JobEnvelope> {
      const job = await readJob(namespace, queue, id);
      const envelope = jobEnvelopeSchema.parse(job.data);
      const data = { ...envelope, generation: envelope.generation + 1 };
      const [added] = await backend.addAll([{ queue, id: copyId, name: job.name, data }]);
      if (added?.ok !== true) throw added?.error ?? new Error("expected one answer per job");
      return data;
    },
    async receipts(eventId: string): Promise<Receipt[]> {
      const { rows } = await pool.query<Receipt>(
        `SELECT "consumer", "outcome", "effectEpoch", "detail" FROM "OutboxReceipt" WHERE "eventId" = $1 ORDER BY "consumer", "effectEpoch"`,
        [eventId],
      );
      return rows;
    },
    async intents(eventId: string): Promise<IntentRow[]> {
      const { rows } = await pool.query<IntentRow>(
        `SELECT "consumer", "target", "effectEpoch", "state", "externalId", "attempts", "unknowns", "lastErrorCode",
                (extract(epoch FROM "notBefore" - "updatedAt") * 1000)::float8 AS "waitMs"
         FROM "OutboxIntent" WHERE "eventId" = $1 ORDER BY "effectEpoch", "target"`,
        [eventId],
      );
      return rows;
    },
    async recipients(eventId: string): Promise<Record<string, string>> {
      const { rows } = await pool.query<{ recipient: string; state: string }>(
        `SELECT "recipient", delivery."state" FROM "EmailDelivery" delivery JOIN "EmailMessage" message ON message."id" = delivery."messageId" WHERE "eventId" = $1`,
        [eventId],
      );
      return Object.fromEntries(rows.map(({ recipient, state }) => [recipient, state]));
    },
    untilReceipt(eventId: string, consumer: string, outcome = "done", effectEpoch = 0): Promise<Receipt> {
      return waitFor(
        async () => {
          const receipts = await this.receipts(eventId);
          return receipts.find((each) => each.consumer === consumer && each.outcome === outcome && each.effectEpoch === effectEpoch);
        },
        { what: `receipt ${outcome} of ${consumer} for ${eventId}`, timeoutMs: 20_000 },
      );
    },
    /** Nothing is waiting, running or delayed in these queues. */
    untilIdle: (...queues: QueueName[]) =>
      waitFor(
        async () => {
          const counts = await Promise.all(queues.map((queue) => backend.counts(queue)));
          return counts.every(({ waiting, active, delayed }) => waiting + active + delayed === 0);
        },
        { what: `${queues.join(", ")} to be idle`, timeoutMs: 20_000 },
      ),
  };
}

/** The process ends each time between what the consumer has settled and the receipt of its job's death: the same job comes again once. */
export function losingItsDeaths(consumer: Consumer): Consumer {
  const lost = new Set<number>();
  return {
    ...consumer,
    async handle(delivery) {
      const { generation } = delivery.envelope;
      const outcome = await consumer.handle(delivery);
      if (outcome.kind !== "cancel" || lost.has(generation)) return outcome;
      lost.add(generation);
      throw new Error("the process ended");
    },
  };
}

async function readJob(namespace: { url: string; prefix: string }, queue: string, id: string): Promise<{ name: string; data: unknown }> {
  const redis = new Redis(namespace.url);
  try {
    const [name, data] = await redis.hmget(`${namespace.prefix}:${queue}:${id}`, "name", "data");
    if (typeof name !== "string" || typeof data !== "string") throw new Error(`expected job ${id} in ${queue}, got none`);
    return { name, data: JSON.parse(data) };
  } finally {
    redis.disconnect();
  }
}

/** What is left of the database's clock and the queue's: makes a waiting endpoint due now, without waiting. */
export async function makeDue(database: Database, eventId: string): Promise<void> {
  await database.pool.query(`UPDATE "OutboxIntent" SET "notBefore" = NULL WHERE "eventId" = $1 AND "state" IN ('pending', 'unknown')`, [
    eventId,
  ]);
}
