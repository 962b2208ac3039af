import type { Queryable } from "@toolctrl/db/sql";
import { findQueueMismatch, listLiveProcesses } from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** This environment means the installation that runs: the queue that the live processes have registered. That its values are valid is known by now. */
export function createEnvironmentCheck(db: Queryable, backend: Pick<QueueBackend, "kind" | "prefix">): Check {
  return { name: "environment", look: () => lookAt(db, backend) };
}

async function lookAt(db: Queryable, { kind, prefix }: Pick<QueueBackend, "kind" | "prefix">): Promise<Finding> {
  const mismatch = findQueueMismatch(await listLiveProcesses(db), { kind, prefix });
  if (mismatch === null) return ok(`valid; queue on ${kind}, prefix ${prefix}`);
  return fail(mismatch.message, "give this command the QUEUE_BACKEND, REDIS_URL and QUEUE_PREFIX of the workers");
}
