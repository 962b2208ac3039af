// The maintenance of this app, in a process of its own.
import { runPart } from "@toolctrl/consumer-testkit/run-part";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { openBackend, openDatabase } from "@toolctrl/worker/resources";
import { readEnv } from "../src/env.ts";
import { startMaintenance } from "../src/start-maintenance.ts";

const log = createLogger({ app: "maintenance", level: "warn" });

runPart(async (source, scope) => {
  const env = readEnv(source);
  const metrics = createMetrics({ processMetrics: false });
  const database = scope.add("database", await openDatabase(env, "maintenance", { log, metrics }));
  const backend = scope.add("backend", await openBackend(env, log));
  scope.add("maintenance", startMaintenance(env, { database, backend, metrics, log }));
}, log);
