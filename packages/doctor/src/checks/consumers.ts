import type { Queryable } from "@toolctrl/db/sql";
import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import { listLiveProcesses, missingConsumers } from "@toolctrl/outbox-drainer/stats";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** Every queue is served, by every consumer that has to work there. */
export function createConsumersCheck(db: Queryable): Check {
  return { name: "consumers", look: () => lookAt(db) };
}

async function lookAt(db: Queryable): Promise<Finding> {
  const processes = await listLiveProcesses(db);
  const unserved = QUEUE_NAMES.filter((queue) => !processes.some(({ queues }) => queues.includes(queue)));
  const missing = QUEUE_NAMES.flatMap((queue) => missingConsumers(queue, processes));
  if (unserved.length === 0 && missing.length === 0) return ok(`every queue is served, by ${processes.length} live processes`);
  const silent = unserved.length === 0 ? "" : ` (queues without a worker: ${unserved.join(", ")})`;
  return fail(
    `expected a live worker of every consumer, got none of ${missing.join(", ") || "those that need no event"}${silent}`,
    "start worker-general and worker-mail, of this version",
  );
}
