import type { ConsumersOf } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { createAuditConsumer } from "./consumers/create-audit-consumer.ts";
import { createNotificationConsumer } from "./consumers/create-notification-consumer.ts";
import type { WorkerGeneralEnv } from "./env.ts";

export interface ConsumerDeps {
  readonly pool: Database["pool"];
  readonly backend: Pick<QueueBackend, "addAll">;
  readonly http: Pick<GuardedHttp, "request">;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The consumers of this app, by name: exactly those of its queues. */
export function createConsumers(_env: WorkerGeneralEnv, deps: ConsumerDeps): Partial<ConsumersOf<"general">> {
  return {
    "notification-create": createNotificationConsumer(deps),
    "audit-append": createAuditConsumer(deps),
  };
}
