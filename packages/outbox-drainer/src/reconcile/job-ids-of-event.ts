import type { Queryable } from "@toolctrl/db/sql";
import type { Router } from "@toolctrl/event-router/router";
import type { QueueName } from "@toolctrl/foundation/queues";
import { jobIdFor, jobIdOf } from "@toolctrl/queue/job-id";

export interface EventJobId {
  readonly eventId: string;
  readonly queue: QueueName;
  readonly jobId: string;
}

/** The jobs that may stand for these events in their present generation: the one of the hand-off, and those its consumers hand on. */
export async function jobIdsOfEvent(
  db: Queryable,
  router: Router,
  events: ReadonlyArray<{ readonly id: string; readonly eventType: string; readonly generation: number }>,
): Promise<EventJobId[]> {
  const jobs: EventJobId[] = [];
  const invoking = new Map<string, number>();
  for (const { id, eventType, generation } of events) {
    const route = router(eventType);
    if (route === null || route.target !== "queue") continue;
    jobs.push({ eventId: id, queue: route.queue, jobId: jobIdFor(id, generation) });
    if (route.consumers.includes("email-send"))
      jobs.push({ eventId: id, queue: "toolctrl.email", jobId: jobIdOf("email", id, generation) });
    if (route.consumers.includes("plugin-invoke")) invoking.set(id, generation);
  }
  for (const { eventId, target } of await listOpenTargets(db, [...invoking.keys()])) {
    const jobId = jobIdOf("plugin", `${eventId}-${target}`, invoking.get(eventId));
    jobs.push({ eventId, queue: "toolctrl.plugin-invoke", jobId });
  }
  return jobs;
}

/** The subscriptions a plugin hook still has to call. Index: "OutboxIntent_effect_key". */
async function listOpenTargets(db: Queryable, eventIds: readonly string[]): Promise<Array<{ eventId: string; target: string }>> {
  if (eventIds.length === 0) return [];
  const { rows } = await db.query<{ eventId: string; target: string }>(
    `SELECT "eventId"::text AS "eventId", "target" FROM "OutboxIntent"
     WHERE "eventId" = ANY($1::uuid[]) AND "consumer" = 'plugin-invoke' AND "state" NOT IN ('sent', 'failed')`,
    [eventIds],
  );
  return rows;
}
