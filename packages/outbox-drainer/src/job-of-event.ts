import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import type { QueueName } from "@toolctrl/foundation/queues";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { NewJob } from "@toolctrl/queue/port";
import type { ClaimedEvent } from "./claimed-event.ts";

/** The BullMQ job of an event: the same id each time it is handed off, until an operator requeues it. */
export function jobOfEvent(event: ClaimedEvent, queue: QueueName): NewJob {
  const data: JobEnvelope = {
    v: 1,
    outboxEventId: event.id,
    tenantId: event.tenantId,
    type: event.eventType,
    version: event.version,
    position: event.position,
    generation: event.generation,
    effectEpoch: event.effectEpoch,
    ...(event.replayConsumer === null ? {} : { replayConsumer: event.replayConsumer }),
    ...(event.inline ? { payload: event.payload } : {}),
    correlationId: event.correlationId,
    causationId: event.causationId,
    depth: event.depth,
    traceparent: event.traceparent,
    tracestate: event.tracestate,
    createdAt: event.createdAt,
  };
  return { queue, id: jobIdFor(event.id, event.generation), name: event.eventType, data };
}
