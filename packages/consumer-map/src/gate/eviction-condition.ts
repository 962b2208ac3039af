import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createRedisCondition } from "./redis-condition.ts";

/** A full Redis refuses to write, instead of dropping jobs and locks. */
export function createEvictionCondition(backend: Pick<QueueBackend, "evictionPolicy">): StartCondition {
  return createRedisCondition({
    name: "eviction policy",
    ask: () => backend.evictionPolicy(),
    judge: ({ policy }) =>
      policy === null || policy === "noeviction"
        ? null
        : { why: `expected maxmemory-policy noeviction in Redis, got ${policy}, which can drop jobs`, fix: "set it to noeviction" },
    byHand: "make sure that its maxmemory-policy is noeviction",
  });
}
