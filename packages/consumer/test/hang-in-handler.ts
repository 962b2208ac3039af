// A worker process whose handler never ends, for tests that kill it there.
import { createDatabase } from "@toolctrl/db/client";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import { startConsumers } from "../src/run.ts";

const { REDIS_URL = "", PREFIX = "", DATABASE_URL = "" } = process.env;
const log = createLogger({ app: "test", level: "silent" });
const database = await createDatabase({
  url: DATABASE_URL,
  poolMax: 2,
  app: "test",
  wakeup: false,
});
const backend = await createQueueBackend({
  kind: "redis",
  redisUrl: REDIS_URL,
  prefix: PREFIX,
  attempts: 3,
  backoffMs: 10,
  lockMs: 1000,
  stalledCheckMs: 300,
  log,
});
startConsumers({
  consumers: [
    {
      name: "probe",
      queue: "outbox.audit",
      concurrency: 1,
      handle() {
        process.stdout.write("in the handler\n");
        return new Promise(() => undefined);
      },
    },
  ],
  backend,
  pool: database.pool,
  store: createRedisStore({ url: REDIS_URL, log }),
  receiver: { ttlSeconds: 3600, claimTtlMs: 1000 },
  metrics: createMetrics(),
  log,
  alerts: createAlerts({ app: "test", log }),
});
process.stdout.write("ready\n");
