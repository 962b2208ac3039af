import { startConsumers } from "@toolctrl/consumer/run";
import { registerProcess } from "@toolctrl/outbox-drainer/registry";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { envOrExit } from "@toolctrl/runtime/env";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { openTracing } from "@toolctrl/runtime/open-tracing";
import { runUntilSignal } from "@toolctrl/runtime/run";
import { boundHeap } from "@toolctrl/worker/bound-heap";
import { openBackend, openDatabase, openHttp, openStore, startHealth } from "@toolctrl/worker/resources";
import { processEntry, receiverSettings } from "@toolctrl/worker/settings";
import { createConsumers } from "./consumers.ts";
import { readEnv } from "./env.ts";

const APP = "worker-mail";
const env = envOrExit(readEnv);
const log = createLogger({ app: APP, level: env.LOG_LEVEL });
boundHeap();

void runUntilSignal(
  async (scope) => {
    const receiver = receiverSettings(env);
    const metrics = createMetrics();
    scope.add("tracing", await openTracing(env, APP, log));
    const alerts = scope.add("alerts", createAlerts({ dsn: env.SENTRY_DSN, app: APP, log }));
    const database = scope.add("database", await openDatabase(env, APP, { log, metrics }));
    const store = scope.add("store", openStore(env, database, log));
    const backend = scope.add("backend", await openBackend(env, log));
    const http = scope.add("http", openHttp(env));
    const pool = database.pool;
    const consumers = Object.values(createConsumers(env, { pool, backend, http, metrics, log }));

    scope.add("registry", await registerProcess(pool, processEntry(env, backend, { app: APP, drains: false, consumers }), log));
    scope.add("health", await startHealth(env, { database, backend, store, metrics, log, isDraining: scope.isStopping }));

    scope.add("consumers", startConsumers({ consumers, backend, pool, store, receiver, metrics, log, alerts }));
  },
  { graceMs: env.SHUTDOWN_GRACE_MS, log },
);
