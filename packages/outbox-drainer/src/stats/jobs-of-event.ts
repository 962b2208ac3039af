import { describeError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { HANDED_ON, handedOnJobId, isHandedOn, type HandedOnConsumer } from "@toolctrl/queue/handed-on-jobs";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { JobView, QueueBackend } from "@toolctrl/queue/port";
import type { RouteRule } from "@toolctrl/event-router/router";
import type { EventIntent } from "./list-event-intents.ts";

/** A job of an event. `view` is null when the queue does not know it; `error` says that the queue could not be asked. */
export interface EventJob {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly generation: number;
  readonly view: JobView | null;
  readonly error: string | null;
}

type Wanted = Pick<EventJob, "queue" | "jobId" | "generation">;

/** Earlier generations looked up: their failed jobs explain why somebody requeued. */
const MAX_GENERATIONS = 5;
/** Targets of a consumer whose jobs are looked up, those with something left to do first. */
const MAX_TARGETS = 100;

/** The jobs of an event's last generations in the queues that it passes through, those its consumers hand on included, oldest first. */
export async function jobsOfEvent(
  backend: Pick<QueueBackend, "find">,
  route: RouteRule | null,
  event: { id: string; generation: number },
  intents: ReadonlyArray<Pick<EventIntent, "consumer" | "target" | "state">>,
): Promise<EventJob[]> {
  if (route === null || route.target !== "queue") return [];
  const oldest = Math.max(0, event.generation - MAX_GENERATIONS + 1);
  const handedOn = route.consumers.filter(isHandedOn);
  const wanted: Wanted[] = [];
  for (let generation = oldest; generation <= event.generation; generation += 1) {
    wanted.push({ queue: route.queue, generation, jobId: jobIdFor(event.id, generation) });
    for (const consumer of handedOn) {
      for (const target of targetsOf(consumer, intents)) {
        const jobId = handedOnJobId(consumer, { id: event.id, generation }, target);
        wanted.push({ queue: HANDED_ON[consumer].queue, generation, jobId });
      }
    }
  }
  return Promise.all(wanted.map((job) => lookUp(backend, job)));
}

function targetsOf(consumer: HandedOnConsumer, intents: ReadonlyArray<Pick<EventIntent, "consumer" | "target" | "state">>): string[] {
  if (!HANDED_ON[consumer].perTarget) return [""];
  const own = intents.filter((intent) => intent.consumer === consumer);
  const inOrder = [...own.filter(({ state }) => state !== "sent"), ...own];
  return [...new Set(inOrder.map(({ target }) => target))].slice(0, MAX_TARGETS);
}

async function lookUp(backend: Pick<QueueBackend, "find">, job: Wanted): Promise<EventJob> {
  try {
    return { ...job, view: await backend.find(job.queue, job.jobId), error: null };
  } catch (error) {
    return { ...job, view: null, error: describeError(error, 300) };
  }
}
