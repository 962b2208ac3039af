// Pull workers that drain what is there, in lanes of a process of their own, for a test that ends them at each of their calls.
import { createEffects } from "@toolctrl/db/after-save-effect";
import { createDatabase } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { hostLanes } from "@toolctrl/testkit/lane-host";
import { createPullWorkers } from "../../src/pull-workers.ts";
import { CRASH_EFFECTS } from "./crash-effects.ts";

const log = createLogger({ app: "crash", level: "warn" });

hostLanes(async ({ DATABASE_URL: url = "", REDIS_URL: redisUrl = "", PREFIX: prefix = "" }) => {
  const database = await createDatabase({ url, poolMax: 4, app: "crash", wakeup: false, log });
  const backend = await createQueueBackend({ kind: "redis", redisUrl, prefix, attempts: 3, backoffMs: 10, log });
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
  return {
    async go() {
      while ((await workers.runOnce()) !== null);
    },
    async close() {
      await workers.close(10_000);
      await backend.close(10_000);
      await database.close(10_000);
    },
  };
});
