import { describeError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { jobIdFor, jobIdOf } from "@toolctrl/queue/job-id";
import type { JobView, QueueBackend } from "@toolctrl/queue/port";
import type { RouteRule } from "@toolctrl/event-router/router";

/** A job of an event. `view` is null when the queue does not know it; `error` says that the queue could not be asked. */
export interface EventJob {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly generation: number;
  readonly view: JobView | null;
  readonly error: string | null;
}

/** Earlier generations looked up: their failed jobs explain why somebody requeued. */
const MAX_GENERATIONS = 5;

/** The jobs of an event's last generations in the queues its route passes through, oldest first. */
export async function jobsOfEvent(
  backend: Pick<QueueBackend, "find">,
  route: RouteRule | null,
  event: { id: string; generation: number },
): Promise<EventJob[]> {
  if (route === null || route.target !== "queue") return [];
  const oldest = Math.max(0, event.generation - MAX_GENERATIONS + 1);
  const wanted: Array<Pick<EventJob, "queue" | "jobId" | "generation">> = [];
  for (let generation = oldest; generation <= event.generation; generation += 1) {
    wanted.push({ queue: route.queue, generation, jobId: jobIdFor(event.id, generation) });
    // A mail goes on from its own queue to the one that is sent from.
    if (route.consumers.includes("email-send"))
      wanted.push({ queue: "toolctrl.email", generation, jobId: jobIdOf("email", event.id, generation) });
  }
  return Promise.all(wanted.map((job) => lookUp(backend, job)));
}

async function lookUp(backend: Pick<QueueBackend, "find">, job: Pick<EventJob, "queue" | "jobId" | "generation">): Promise<EventJob> {
  try {
    return { ...job, view: await backend.find(job.queue, job.jobId), error: null };
  } catch (error) {
    return { ...job, view: null, error: describeError(error, 300) };
  }
}
