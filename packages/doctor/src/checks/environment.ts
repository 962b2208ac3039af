import type { Queryable } from "@toolctrl/db/sql";
import { listLiveProcesses } from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** This environment means the installation that runs: the queue that the live processes have registered. That its values are valid is known by now. */
export function createEnvironmentCheck(db: Queryable, backend: Pick<QueueBackend, "kind" | "prefix">): Check {
  return { name: "environment", look: () => lookAt(db, backend) };
}

async function lookAt(db: Queryable, { kind, prefix }: Pick<QueueBackend, "kind" | "prefix">): Promise<Finding> {
  const other = (await listLiveProcesses(db)).find(({ queueBackend, queuePrefix }) => queueBackend !== kind || queuePrefix !== prefix);
  if (other === undefined) return ok(`valid; queue on ${kind}, prefix ${prefix}`);
  return fail(
    `expected the queue of ${other.app} on ${other.host} (${other.queueBackend}, prefix ${other.queuePrefix}), got ${kind}, prefix ${prefix}`,
    "give this command the QUEUE_BACKEND, REDIS_URL and QUEUE_PREFIX of the workers",
  );
}
