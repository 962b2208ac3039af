// The app's consumers in a process of their own, with short locks, for tests that end it at any of its calls.
import { startConsumers } from "@toolctrl/consumer/run";
import { createDatabase } from "@toolctrl/db/client";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import { createEmailSend } from "../src/email-send.ts";
import { createMailRender } from "../src/mail-render.ts";
import { createWebhookDeliver } from "../src/webhook-deliver.ts";
import { CRASH_TIMES, SECRETS_KEY } from "./crash-times.ts";

const { REDIS_URL = "", PREFIX = "", DATABASE_URL = "", SMTP_PORT = "", HTTP_PORT = "" } = process.env;
const log = createLogger({ app: "test", level: "silent" });
const metrics = createMetrics();
const database = await createDatabase({ url: DATABASE_URL, poolMax: 4, app: "test", wakeup: false });
const { pool } = database;
const { lockMs, stalledCheckMs, claimTtlMs, deadlineMs } = CRASH_TIMES;
const backend = await createQueueBackend({
  kind: "redis",
  redisUrl: REDIS_URL,
  prefix: PREFIX,
  attempts: 4,
  backoffMs: 10,
  lockMs,
  stalledCheckMs,
  log,
});
const server = { host: "127.0.0.1", port: Number(SMTP_PORT), secure: false, startTls: "opportunistic", auth: null } as const;
const common = { pool, metrics, log, concurrency: 2, messageIdDomain: "mail.toolctrl.test" };
startConsumers({
  consumers: [
    createMailRender({ ...common, backend, defaultFrom: "noreply@toolctrl.test" }),
    createEmailSend({ ...common, server, sendDeadlineMs: deadlineMs }),
    createWebhookDeliver({
      ...common,
      http: createGuardedHttp({ allow: [`127.0.0.1:${HTTP_PORT}`] }),
      secretsKey: SECRETS_KEY,
      deadlineMs,
      maxAttempts: 5,
      backoffMs: 20,
      maxRetryAfterMs: 1000,
    }),
  ],
  backend,
  pool,
  store: createRedisStore({ url: REDIS_URL, log }),
  storePrefix: PREFIX,
  receiver: { ttlSeconds: 3600, claimTtlMs },
  metrics,
  log,
  alerts: createAlerts({ app: "test", log }),
});
process.on("SIGTERM", () => process.exit(0));
// oxlint-disable-next-line no-underscore-dangle -- the name of testkit's hook
globalThis.__armCrashPoints?.();
process.stdout.write("ready\n");
