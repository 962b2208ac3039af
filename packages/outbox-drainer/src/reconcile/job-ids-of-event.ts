import type { Queryable } from "@toolctrl/db/sql";
import type { Router } from "@toolctrl/event-router/router";
import type { QueueName } from "@toolctrl/foundation/queues";
import { HANDED_ON, handedOnJobId, isHandedOn, type HandedOnConsumer } from "@toolctrl/queue/handed-on-jobs";
import { jobIdFor } from "@toolctrl/queue/job-id";

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
  const perTarget = new Map<string, { event: { id: string; generation: number }; consumer: HandedOnConsumer }>();
  for (const { id, eventType, generation } of events) {
    const route = router(eventType);
    if (route === null || route.target !== "queue") continue;
    jobs.push({ eventId: id, queue: route.queue, jobId: jobIdFor(id, generation) });
    for (const consumer of route.consumers.filter(isHandedOn)) {
      const event = { id, generation };
      if (HANDED_ON[consumer].perTarget) perTarget.set(`${id} ${consumer}`, { event, consumer });
      else jobs.push({ eventId: id, queue: HANDED_ON[consumer].queue, jobId: handedOnJobId(consumer, event) });
    }
  }
  for (const { eventId, consumer, target } of await listUnsentTargets(db, [...perTarget.values()])) {
    const job = perTarget.get(`${eventId} ${consumer}`);
    if (job === undefined) continue;
    jobs.push({ eventId, queue: HANDED_ON[job.consumer].queue, jobId: handedOnJobId(job.consumer, job.event, target) });
  }
  return jobs;
}

/**
 * The targets that a job may still be at: one that failed too, as it is called again when the event was requeued. Index: "OutboxIntent_effect_key".
 */
async function listUnsentTargets(
  db: Queryable,
  jobs: ReadonlyArray<{ readonly event: { readonly id: string }; readonly consumer: string }>,
): Promise<Array<{ eventId: string; consumer: string; target: string }>> {
  if (jobs.length === 0) return [];
  const { rows } = await db.query<{ eventId: string; consumer: string; target: string }>(
    `SELECT i."eventId"::text AS "eventId", i."consumer", i."target"
       FROM unnest($1::uuid[], $2::text[]) AS job("eventId", "consumer")
       JOIN "OutboxIntent" i ON i."eventId" = job."eventId" AND i."consumer" = job."consumer" AND i."state" <> 'sent'`,
    [jobs.map(({ event }) => event.id), jobs.map(({ consumer }) => consumer)],
  );
  return rows;
}
