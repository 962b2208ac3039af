import { startConsumers } from "@toolctrl/consumer/run";
import { createRolloutGate, type RolloutGate } from "@toolctrl/consumer-map/gate";
import { createHeldBy } from "@toolctrl/consumer-map/held";
import { createEffects } from "@toolctrl/db/after-save-effect";
import { afterSaveEffects } from "@toolctrl/domain/after-save-effects";
import type { PluginFunctions } from "@toolctrl/domain/plugins";
import { createRouter } from "@toolctrl/event-router/router";
import { registerProcess } from "@toolctrl/outbox-drainer/registry";
import { createConditionCheck } from "@toolctrl/outbox-drainer/switch";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { envOrExit } from "@toolctrl/runtime/env";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { openTracing } from "@toolctrl/runtime/open-tracing";
import { runAsProgram, runUntilSignal, together } from "@toolctrl/runtime/run";
import { boundHeap } from "@toolctrl/worker/bound-heap";
import { openBackend, openDatabase, openHttp, openStore, startHealth } from "@toolctrl/worker/resources";
import { processEntry, receiverSettings, retryHorizonOf } from "@toolctrl/worker/settings";
import { createConsumers } from "./consumers.ts";
import { createDrainer } from "./create-drainer.ts";
import { readEnv } from "./env.ts";
import { MAINTENANCE_QUEUE, startMaintenance } from "./start-maintenance.ts";
import { startSampling } from "./start-sampling.ts";

const APP = "worker-general";

export interface WorkerGeneralOptions {
  /** What has to hold before pull workers may run. */
  readonly gate: RolloutGate;
  /** The functions that plugins' subscriptions may name. Default: none. */
  readonly pluginFunctions?: PluginFunctions;
}

/** The whole app, from its environment to the signal that ends it. */
export function runWorkerGeneral({ gate, pluginFunctions = {} }: WorkerGeneralOptions): Promise<never> {
  const env = envOrExit(readEnv);
  const log = createLogger({ app: APP, level: env.LOG_LEVEL });
  boundHeap();
  return runUntilSignal(
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
      const consumers = Object.values(createConsumers(env, { pool, backend, http, metrics, log, pluginFunctions }));
      const shared = { database, backend, pool, store, metrics, alerts, log };

      const votes = env.OUTBOX_PULL_WORKER !== "false";
      const checkConditions = createConditionCheck(gate({ db: pool, backend, horizon: retryHorizonOf(env), votes }));
      const { blockers } = await checkConditions();
      const self = { app: APP, drains: env.OUTBOX_DISPATCHER_ENABLED, consumers, otherQueues: [MAINTENANCE_QUEUE], blockers };
      const registered = scope.add("registry", await registerProcess(pool, processEntry(env, backend, self), log));
      const effects = createEffects(afterSaveEffects());
      const drainer = createDrainer(env, {
        ...shared,
        app: APP,
        router: createRouter(),
        effects,
        heldBy: createHeldBy(),
        checkConditions,
        registered,
      });
      scope.add("health", await startHealth(env, { ...shared, isDraining: scope.isStopping, details: drainer.details }));

      scope.add("work", together(await drainer.start(), startConsumers({ ...shared, consumers, receiver }), startMaintenance(env, shared)));
      scope.add("sampling", startSampling(shared));
    },
    { graceMs: env.SHUTDOWN_GRACE_MS, log },
  );
}

runAsProgram(import.meta, () => runWorkerGeneral({ gate: createRolloutGate() }));
