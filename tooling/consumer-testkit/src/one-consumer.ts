import type { Consumer } from "@toolctrl/consumer/define";
import { startConsumers } from "@toolctrl/consumer/run";
import type { Database } from "@toolctrl/db/client";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import type { WorkerEnv } from "@toolctrl/worker/env";
import { openBackend, openDatabase, openStore } from "@toolctrl/worker/resources";
import { receiverSettings } from "@toolctrl/worker/settings";
import { runPart, type PartScope } from "./run-part.ts";

export interface OneConsumerDeps {
  readonly database: Database;
  readonly pool: Database["pool"];
  readonly backend: QueueBackend;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly scope: PartScope;
}

/** How an app reads its environment, and makes its consumers. */
export interface OneConsumerOf<Env extends WorkerEnv> {
  readEnv(source: Readonly<Record<string, string | undefined>>): Env;
  consumers(env: Env, deps: OneConsumerDeps): readonly Consumer[];
}

const APP = "one-consumer";
const log = createLogger({ app: APP, level: "warn" });

/**
 * Runs one of an app's consumers, named by CONSUMER in the environment, as the app would, in a process with nothing else in it and one job
 * at a time: so its calls come in the same order in every run, and a test that ends it after the k-th knows which that is. A test with a
 * channel to the process opens as many such consumers in it as it wants, each in a lane of its own. For the main file of a child process.
 */
export function runOneConsumer<Env extends WorkerEnv>(app: OneConsumerOf<Env>): void {
  runPart((source, scope) => openOneConsumer(app, source, scope), log);
}

async function openOneConsumer<Env extends WorkerEnv>(
  app: OneConsumerOf<Env>,
  { CONSUMER: name, ...source }: Readonly<Record<string, string | undefined>>,
  scope: PartScope,
): Promise<void> {
  const env = app.readEnv(source);
  const receiver = receiverSettings(env);
  const metrics = createMetrics({ processMetrics: false });
  const alerts = createAlerts({ app: APP, log });
  const database = scope.add("database", await openDatabase(env, APP, { log, metrics }));
  const store = scope.add("store", openStore(env, database, log));
  const backend = scope.add("backend", await openBackend(env, log));
  const pool = database.pool;
  const consumers = app
    .consumers(env, { database, pool, backend, metrics, log, scope })
    .filter((consumer) => consumer.name === name)
    .map((consumer) => ({ ...consumer, concurrency: 1 }));
  scope.add("consumers", startConsumers({ consumers, backend, pool, store, receiver, metrics, log, alerts }));
}
