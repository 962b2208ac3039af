import type { ConsumersOf } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { createEmailSend } from "./email-send.ts";
import type { WorkerMailEnv } from "./env.ts";
import { createMailRender } from "./mail-render.ts";
import { createMarketingSync } from "./marketing-sync.ts";
import { marketingProvider, messageIdDomain, smtpServer } from "./settings.ts";
import { createWebhookDeliver } from "./webhook-deliver.ts";

export interface ConsumerDeps {
  readonly pool: Database["pool"];
  readonly backend: Pick<QueueBackend, "addAll">;
  readonly http: Pick<GuardedHttp, "request">;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The consumers of this app, by name: exactly those of its queues. */
export function createConsumers(env: WorkerMailEnv, deps: ConsumerDeps): ConsumersOf<"mail"> {
  const domain = messageIdDomain(env);
  return {
    "mail-render": createMailRender({
      ...deps,
      concurrency: env.MAIL_RENDER_CONCURRENCY,
      defaultFrom: env.MAIL_FROM,
      messageIdDomain: domain,
    }),
    "email-send": createEmailSend({
      ...deps,
      server: smtpServer(env),
      concurrency: env.MAIL_SEND_CONCURRENCY,
      sendDeadlineMs: env.MAIL_SEND_DEADLINE_MS,
      messageIdDomain: domain,
    }),
    "webhook-deliver": createWebhookDeliver({
      ...deps,
      secretsKey: env.WEBHOOK_SECRETS_KEY,
      concurrency: env.WEBHOOK_CONCURRENCY,
      deadlineMs: env.WEBHOOK_DEADLINE_MS,
      maxAttempts: env.WEBHOOK_MAX_ATTEMPTS,
      backoffMs: env.WEBHOOK_BACKOFF_MS,
      maxRetryAfterMs: env.WEBHOOK_RETRY_AFTER_MAX_SECONDS * 1000,
    }),
    "marketing-sync": createMarketingSync({
      ...deps,
      provider: marketingProvider(env),
      concurrency: env.MARKETING_CONCURRENCY,
      deadlineMs: env.MARKETING_DEADLINE_MS,
      maxAttempts: env.MARKETING_MAX_ATTEMPTS,
      backoffMs: env.MARKETING_BACKOFF_MS,
      maxRetryAfterMs: env.MARKETING_RETRY_AFTER_MAX_SECONDS * 1000,
    }),
  };
}
