// One consumer of this app in a process of its own, one job at a time: so its calls come in the same order in every run, and a test that
// ends the process after the k-th knows which that is. Everything else is as in main.ts.
import { startConsumers } from "@toolctrl/consumer/run";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal } from "@toolctrl/runtime/run";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { openBackend, openDatabase, openStore } from "@toolctrl/worker/resources";
import { receiverSettings } from "@toolctrl/worker/settings";
import { allowedTargets } from "../src/settings.ts";

const { CONSUMER, ...source } = process.env;
const env = readEnv(source);
const log = createLogger({ app: "one-consumer", level: "warn" });

void runUntilSignal(
  async (scope) => {
    const metrics = createMetrics();
    const alerts = createAlerts({ app: "one-consumer", log });
    const database = scope.add("database", await openDatabase(env, "one-consumer", log));
    const store = scope.add("store", openStore(env, database, log));
    const backend = scope.add("backend", await openBackend(env, log));
    const http = scope.add("http", createGuardedHttp({ allow: allowedTargets(env) }));
    const { pool } = database;
    const consumers = createConsumers(env, { pool, backend, http, metrics, log })
      .filter(({ name }) => name === CONSUMER)
      .map((consumer) => ({ ...consumer, concurrency: 1 }));
    scope.add("consumers", startConsumers({ consumers, backend, pool, store, receiver: receiverSettings(env), metrics, log, alerts }));
  },
  { graceMs: env.SHUTDOWN_GRACE_MS, log },
);
