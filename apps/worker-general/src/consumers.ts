import type { ConsumersOf } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import type { PluginFunctions } from "@toolctrl/domain/plugins";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { createAiCostConsumer } from "./consumers/create-ai-cost-consumer.ts";
import { createAuditConsumer } from "./consumers/create-audit-consumer.ts";
import { createFormRouteConsumer } from "./consumers/create-form-route-consumer.ts";
import { createNotificationConsumer } from "./consumers/create-notification-consumer.ts";
import { createPluginCapabilityConsumer } from "./consumers/create-plugin-capability-consumer.ts";
import { createPluginFanoutConsumer } from "./consumers/create-plugin-fanout-consumer.ts";
import { createPluginInvokeConsumer } from "./consumers/create-plugin-invoke-consumer.ts";
import { createRagConsumer } from "./consumers/create-rag-consumer.ts";
import { createSearchConsumer } from "./consumers/create-search-consumer.ts";
import { createWorkflowConsumer } from "./consumers/create-workflow-consumer.ts";
import type { WorkerGeneralEnv } from "./env.ts";
import { openEmbeddings } from "./open-embeddings.ts";
import { openExecutor } from "./open-executor.ts";

export interface ConsumerDeps {
  readonly pool: Database["pool"];
  readonly backend: Pick<QueueBackend, "addAll">;
  readonly http: Pick<GuardedHttp, "request">;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** The functions that plugins' subscriptions may name. */
  readonly pluginFunctions?: PluginFunctions;
}

/** The consumers of this app, by name: exactly those of its queues. */
export function createConsumers(env: WorkerGeneralEnv, deps: ConsumerDeps): ConsumersOf<"general"> {
  return {
    "notification-create": createNotificationConsumer(deps),
    "audit-append": createAuditConsumer(deps),
    "search-index": createSearchConsumer(deps),
    "rag-index": createRagConsumer({
      ...deps,
      embeddings: openEmbeddings(env, deps.http),
      sizes: { maxCharacters: env.RAG_CHUNK_CHARACTERS, overlapCharacters: env.RAG_CHUNK_OVERLAP },
      concurrency: env.RAG_CONCURRENCY,
    }),
    "ai-cost-record": createAiCostConsumer(deps),
    "form-route": createFormRouteConsumer(deps),
    "plugin-fanout": createPluginFanoutConsumer(deps),
    "plugin-invoke": createPluginInvokeConsumer({
      ...deps,
      functions: deps.pluginFunctions ?? {},
      secretsKey: env.PLUGIN_SECRETS_KEY,
      concurrency: Math.max(1, Math.min(env.PLUGIN_CONCURRENCY, Math.floor(env.DATABASE_POOL_MAX / 2))),
      deadlineMs: env.PLUGIN_DEADLINE_MS,
      maxAttempts: env.PLUGIN_MAX_ATTEMPTS,
      backoffMs: env.PLUGIN_BACKOFF_MS,
      maxRetryAfterMs: env.PLUGIN_RETRY_AFTER_MAX_SECONDS * 1000,
    }),
    "plugin-capability-count": createPluginCapabilityConsumer(deps),
    "workflow-trigger": createWorkflowConsumer({ ...deps, ...openExecutor(env, deps), concurrency: env.WORKFLOW_CONCURRENCY }),
  };
}
