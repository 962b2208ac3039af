import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule, Router } from "@toolctrl/event-router/router";
import type { QueueName } from "@toolctrl/foundation/queues";
import type { QueueBackend } from "@toolctrl/queue/port";
import { jobIdsOfEvent } from "./job-ids-of-event.ts";
import { listUnfinished, type UnfinishedEvent } from "./sql/list-unfinished.ts";

export interface LostDeps {
  readonly db: Queryable;
  readonly router: Router;
  readonly routes: readonly RouteRule[];
  readonly backend: Pick<QueueBackend, "findLive">;
}

/** Job ids of one question to the queue. */
const IDS_AT_ONCE = 500;

/**
 * Those of these unfinished events that no job will ever finish: none of theirs is alive, and after that was seen their receipts were
 * still missing. In the other order, a job that finished between the two looks would be taken for lost.
 * @throws CodedError `QUEUE.*` when the queue cannot be asked: what cannot be seen is not lost.
 */
export async function findLost(deps: LostDeps, unfinished: readonly UnfinishedEvent[]): Promise<UnfinishedEvent[]> {
  if (unfinished.length === 0) return [];
  const jobs = await jobIdsOfEvent(deps.db, deps.router, unfinished);
  const live = await findLiveEvents(deps.backend, jobs);
  const ids = unfinished.filter(({ id }) => !live.has(id)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const generations = new Map(unfinished.map(({ id, generation }) => [id, generation]));
  const { events } = await listUnfinished(deps.db, deps.routes, { ids });
  // One that was requeued in between has a new job, of which nothing was asked.
  return events.filter(({ id, generation }) => generations.get(id) === generation);
}

async function findLiveEvents(
  backend: Pick<QueueBackend, "findLive">,
  jobs: ReadonlyArray<{ readonly eventId: string; readonly queue: QueueName; readonly jobId: string }>,
): Promise<Set<string>> {
  const live = new Set<string>();
  const queues = new Set(jobs.map(({ queue }) => queue));
  for (const queue of queues) {
    const own = jobs.filter((job) => job.queue === queue);
    for (let start = 0; start < own.length; start += IDS_AT_ONCE) {
      const part = own.slice(start, start + IDS_AT_ONCE);
      const found = await backend.findLive(
        queue,
        part.map(({ jobId }) => jobId),
      );
      for (const { eventId, jobId } of part) if (found.has(jobId)) live.add(eventId);
    }
  }
  return live;
}
