// The shop's worker: the drainer hands events off to a queue, and the consumer gives each of them its effect.
import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { Consumer } from "@toolctrl/consumer/define";
import { startConsumers } from "@toolctrl/consumer/run";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { listenForWakeups } from "@toolctrl/db/wakeup";
import { createRouter } from "@toolctrl/event-router/router";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { registerProcess } from "@toolctrl/outbox-drainer/registry";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal, together } from "@toolctrl/runtime/run";
import { createPostgresStore } from "@toolctrl/shared-store/postgres";
import { createRedisStore } from "@toolctrl/shared-store/redis";

const APP = "shop-worker";
const QUEUE = "outbox.notification";
const CONSUMER = "order-confirm";

const { DATABASE_URL: url, REDIS_URL: redisUrl } = process.env;
if (url === undefined) throw new Error("expected DATABASE_URL to be set, got nothing");
const log = createLogger({ app: APP, level: "info" });

/** Confirms an order: the message and the receipt of the event commit together, so that a second delivery writes nothing. */
function confirmOrders(pool: Database["pool"]): Consumer {
  return {
    name: CONSUMER,
    queue: QUEUE,
    concurrency: 10,
    async handle(delivery) {
      const { recordId, item } = delivery.payload as { recordId?: unknown; item?: unknown };
      if (typeof recordId !== "string" || typeof item !== "string") return { kind: "cancel", error: new Error("expected an order") };
      return databaseEffect(pool, CONSUMER, delivery, async (tx) => {
        await tx.query(`INSERT INTO "ShopMessage" ("orderId", "text") VALUES ($1, $2)`, [recordId, `Your ${item} is on its way.`]);
      });
    },
  };
}

await runUntilSignal(
  async (scope) => {
    const database = scope.add("database", await createDatabase({ url, poolMax: 10, app: APP, log }));
    const { pool } = database;
    const kind = redisUrl === undefined ? "postgres" : "redis";
    const queue = { kind, redisUrl, databaseUrl: url, prefix: "{shop}", attempts: 6, backoffMs: 5000 } as const;
    const backend = scope.add("backend", await createQueueBackend({ ...queue, log }));
    const store = scope.add(
      "store",
      redisUrl === undefined ? createPostgresStore({ pool, log }) : createRedisStore({ url: redisUrl, log }),
    );
    const metrics = createMetrics();
    const alerts = scope.add("alerts", createAlerts({ app: APP, log }));
    const shared = { backend, pool, metrics, alerts, log };

    // Who runs, on which queue: a process on another queue refuses to start.
    const self = { app: APP, vote: "false", drains: true, queueBackend: kind, queuePrefix: queue.prefix } as const;
    scope.add("registry", await registerProcess(pool, { ...self, queues: [QUEUE], consumers: [CONSUMER] }, log));

    const router = createRouter([{ prefix: "shop.", target: "queue", queue: QUEUE, consumers: [CONSUMER] }]);
    const settings = { intervalMs: 1000, batchSize: 100, maxRetries: 6, leaseMs: 300_000, crashBudget: 6 };
    const dispatcher = createBatchDispatcher({ ...shared, router, settings });
    scope.add("wake-ups", await listenForWakeups({ url, onWake: dispatcher.wake, app: APP, log }));
    // What a delivery leaves in the store outlives every retry of its event: 6 of the dispatcher and 6 of the queue.
    const receiver = { ttlSeconds: 24 * 60 * 60, claimTtlMs: 30_000 };
    const consumers = startConsumers({ ...shared, store, receiver, consumers: [confirmOrders(pool)] });
    dispatcher.start();
    scope.add("work", together(dispatcher, consumers));
  },
  { graceMs: 10_000, log },
);
