import { startConsumers } from "@toolctrl/consumer/run";
import { createRouter } from "@toolctrl/event-router/router";
import { registerProcess } from "@toolctrl/outbox-drainer/registry";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { envOrExit } from "@toolctrl/runtime/env";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal, together } from "@toolctrl/runtime/run";
import { boundHeap } from "@toolctrl/worker/bound-heap";
import { openBackend, openDatabase, openStore, startHealth } from "@toolctrl/worker/resources";
import { processEntry, receiverSettings } from "@toolctrl/worker/settings";
import { createAuditConsumer } from "./consumers/create-audit-consumer.ts";
import { createNotificationConsumer } from "./consumers/create-notification-consumer.ts";
import { readEnv } from "./env.ts";
import { startDispatcher } from "./start-dispatcher.ts";
import { MAINTENANCE_QUEUE, startMaintenance } from "./start-maintenance.ts";
import { startSampling } from "./start-sampling.ts";

const APP = "worker-general";
const env = envOrExit(readEnv);
const log = createLogger({ app: APP, level: env.LOG_LEVEL });
boundHeap();

void runUntilSignal(
  async (scope) => {
    const receiver = receiverSettings(env);
    const metrics = createMetrics();
    const alerts = scope.add("alerts", createAlerts({ dsn: env.SENTRY_DSN, app: APP, log }));
    const database = scope.add("database", await openDatabase(env, APP, log));
    const store = scope.add("store", openStore(env, database, log));
    const backend = scope.add("backend", await openBackend(env, log));
    const pool = database.pool;
    const consumers = [createNotificationConsumer({ pool }), createAuditConsumer({ pool })];
    const shared = { database, backend, pool, store, metrics, alerts, log };

    const queues = [...consumers.map((consumer) => consumer.queue), MAINTENANCE_QUEUE];
    const self = { app: APP, drains: env.OUTBOX_DISPATCHER_ENABLED, queues };
    scope.add("registry", await registerProcess(pool, processEntry(env, backend, self), log));
    scope.add("health", await startHealth(env, { ...shared, isDraining: scope.isStopping }));

    const dispatcher = await startDispatcher(env, { ...shared, app: APP, router: createRouter() });
    scope.add("work", together(dispatcher, startConsumers({ ...shared, consumers, receiver }), startMaintenance(env, shared)));
    scope.add("sampling", startSampling(shared));
  },
  { graceMs: env.SHUTDOWN_GRACE_MS, log },
);
