// The maintenance of this app, in a process of its own.
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal } from "@toolctrl/runtime/run";
import { openBackend, openDatabase } from "@toolctrl/worker/resources";
import { readEnv } from "../src/env.ts";
import { startMaintenance } from "../src/start-maintenance.ts";

const env = readEnv();
const log = createLogger({ app: "maintenance", level: "warn" });
void runUntilSignal(
  async (scope) => {
    const database = scope.add("database", await openDatabase(env, "maintenance", log));
    const backend = scope.add("backend", await openBackend(env, log));
    scope.add("maintenance", startMaintenance(env, { database, backend, metrics: createMetrics({ processMetrics: false }), log }));
  },
  { graceMs: env.SHUTDOWN_GRACE_MS, log },
);
