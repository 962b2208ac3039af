import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createRedisCondition } from "./redis-condition.ts";

/** Redis writes each job to an append-only file; its snapshots alone would lose minutes of them at a restart. */
export function createPersistenceCondition(backend: Pick<QueueBackend, "persistence">): StartCondition {
  return createRedisCondition({
    name: "persistence",
    ask: () => backend.persistence(),
    judge: ({ appendOnly }) =>
      appendOnly === null || appendOnly
        ? null
        : { why: "expected appendonly yes in Redis, got no: a restart of it loses jobs", fix: "set appendonly to yes" },
    byHand: "make sure that it keeps an append-only file",
  });
}
