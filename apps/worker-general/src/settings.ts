import type { Consumer } from "@toolctrl/consumer/define";
import type { ProcessEntry } from "@toolctrl/outbox-drainer/registry";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { WorkerGeneralEnv } from "./env.ts";

/** What this process says of itself in the register of live processes. */
export function processEntry(env: WorkerGeneralEnv, app: string, backend: QueueBackend, consumers: readonly Consumer[]): ProcessEntry {
  return {
    app,
    vote: env.OUTBOX_PULL_WORKER,
    drains: env.OUTBOX_DISPATCHER_ENABLED,
    queueBackend: backend.kind,
    queuePrefix: backend.prefix,
    queues: [...consumers.map((consumer) => consumer.queue), "toolctrl.maintenance"],
  };
}

/** How long the receiver remembers. */
export function receiverSettings(env: WorkerGeneralEnv): { ttlSeconds: number; claimTtlMs: number } {
  return { ttlSeconds: env.OUTBOX_RESULT_TTL_SECONDS, claimTtlMs: env.OUTBOX_CLAIM_TTL_MS };
}
