import type { Database } from "@toolctrl/db/client";
import { resolveQueueBackend } from "@toolctrl/runtime/env";
import type { Logger } from "@toolctrl/runtime/logger";
import type { KeyValueStore } from "@toolctrl/shared-store/key-value";
import { createPostgresStore } from "@toolctrl/shared-store/postgres";
import { createRedisStore } from "@toolctrl/shared-store/redis";
import type { WorkerGeneralEnv } from "./env.ts";

/** Where idempotency claims live: beside the queue, so that an installation without Redis needs none for this either. */
export function openStore(env: WorkerGeneralEnv, database: Database, log: Logger): KeyValueStore {
  const { kind } = resolveQueueBackend(env);
  if (kind === "redis" && env.REDIS_URL !== undefined) return createRedisStore({ url: env.REDIS_URL, log });
  return createPostgresStore({ pool: database.pool });
}
