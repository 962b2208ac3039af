/* oxlint-disable no-underscore-dangle -- the name of the hook */
// A process that drains what is there as a pull worker does, and ends; it is ended earlier at each of its calls.
import { createEffects } from "@toolctrl/db/after-save-effect";
import { createDatabase } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createPullWorkers } from "../../src/pull-workers.ts";
import { CRASH_EFFECTS } from "./crash-effects.ts";

const { CRASH_DATABASE_URL: url = "", CRASH_REDIS_URL: redisUrl = "", CRASH_PREFIX: prefix = "" } = process.env;
const log = createLogger({ app: "crash", level: "warn" });
const database = await createDatabase({ url, poolMax: 4, app: "crash", wakeup: false, log });
const backend = await createQueueBackend({ kind: "redis", redisUrl, prefix, attempts: 3, backoffMs: 10, log });
await backend.ping();
const workers = createPullWorkers({
  database,
  router: createRouter(),
  effects: createEffects(CRASH_EFFECTS),
  backend,
  settings: { parallelism: 1, intervalMs: 1_000, leaseMs: 60_000, lockTimeoutMs: 2_000, maxRetries: 6, crashBudget: 6 },
  metrics: createMetrics({ processMetrics: false }),
  alerts: createAlerts({ app: "crash", log }),
  log,
});
globalThis.__armCrashPoints?.();
while ((await workers.runOnce()) !== null);
await workers.close(1_000);
await backend.close(1_000);
await database.close(1_000);
