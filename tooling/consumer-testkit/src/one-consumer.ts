import type { Consumer } from "@toolctrl/consumer/define";
import { startConsumers } from "@toolctrl/consumer/run";
import type { Database } from "@toolctrl/db/client";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal, type Scope } from "@toolctrl/runtime/run";
import type { WorkerEnv } from "@toolctrl/worker/env";
import { openBackend, openDatabase, openStore } from "@toolctrl/worker/resources";
import { receiverSettings } from "@toolctrl/worker/settings";

export interface OneConsumerDeps {
  readonly database: Database;
  readonly pool: Database["pool"];
  readonly backend: QueueBackend;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly scope: Scope;
}

/**
 * Runs one of an app's consumers as the app would, in a process with nothing else in it and one job at a time: so its calls come in the
 * same order in every run, and a test that ends the process after the k-th knows which that is. For the main file of a child process.
 */
export function runOneConsumer(env: WorkerEnv, name: string, consumersOf: (deps: OneConsumerDeps) => readonly Consumer[]): void {
  const app = "one-consumer";
  const log = createLogger({ app, level: "warn" });
  void runUntilSignal(
    async (scope) => {
      const receiver = receiverSettings(env);
      const metrics = createMetrics({ processMetrics: false });
      const alerts = createAlerts({ app, log });
      const database = scope.add("database", await openDatabase(env, app, log));
      const store = scope.add("store", openStore(env, database, log));
      const backend = scope.add("backend", await openBackend(env, log));
      const pool = database.pool;
      const consumers = consumersOf({ database, pool, backend, metrics, log, scope })
        .filter((consumer) => consumer.name === name)
        .map((consumer) => ({ ...consumer, concurrency: 1 }));
      scope.add("consumers", startConsumers({ consumers, backend, pool, store, receiver, metrics, log, alerts }));
    },
    { graceMs: env.SHUTDOWN_GRACE_MS, log },
  );
}
