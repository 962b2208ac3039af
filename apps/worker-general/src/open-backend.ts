import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { resolveQueueBackend } from "@toolctrl/runtime/env";
import type { Logger } from "@toolctrl/runtime/logger";
import type { WorkerGeneralEnv } from "./env.ts";

/** BullMQ where the environment says, and the log says why. */
export function openBackend(env: WorkerGeneralEnv, log: Logger): Promise<QueueBackend> {
  const { kind, why } = resolveQueueBackend(env);
  log.info({ kind, why, prefix: env.QUEUE_PREFIX }, "queue backend chosen");
  return createQueueBackend({
    kind,
    ...(env.REDIS_URL === undefined ? {} : { redisUrl: env.REDIS_URL }),
    databaseUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
    prefix: env.QUEUE_PREFIX,
    attempts: env.OUTBOX_RECEIVER_ATTEMPTS,
    backoffMs: env.OUTBOX_RECEIVER_BACKOFF_MS,
    log,
  });
}
