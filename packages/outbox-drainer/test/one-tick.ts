// A dispatcher that makes one tick, in lanes of a process of its own, for a test that ends it after any of its calls.
import { createDatabase } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { hostLanes } from "@toolctrl/testkit/lane-host";
import { createBatchDispatcher } from "../src/batch-dispatcher.ts";

hostLanes(async ({ KIND = "", DATABASE_URL = "", REDIS_URL = "", PREFIX = "", BATCH_SIZE = "", APP = "" }) => {
  const log = createLogger({ app: APP, level: "silent" });
  const database = await createDatabase({ url: DATABASE_URL, poolMax: 4, app: APP, wakeup: false });
  const backend = await createQueueBackend({
    kind: KIND === "postgres" ? "postgres" : "redis",
    redisUrl: REDIS_URL,
    databaseUrl: DATABASE_URL,
    prefix: PREFIX,
    attempts: 3,
    backoffMs: 10,
    log,
  });
  const dispatcher = createBatchDispatcher({
    pool: database.pool,
    router: createRouter(),
    backend,
    settings: { intervalMs: 1000, batchSize: Number(BATCH_SIZE), maxRetries: 6, leaseMs: 300_000, crashBudget: 6 },
    metrics: createMetrics({ processMetrics: false }),
    alerts: createAlerts({ app: APP, log }),
    log,
  });
  return {
    async go() {
      await dispatcher.tick();
    },
    async close() {
      await backend.close(2000);
      await database.close();
    },
  };
});
