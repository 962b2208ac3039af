import { failSpan, SpanKind, startSpan, traceContextOf } from "@toolctrl/tracing/spans";
import type { AddResult, NewJob, QueueBackend } from "@toolctrl/queue/port";
import type { ClaimedEvent } from "./claimed-event.ts";

export interface RoutedEvent {
  readonly event: ClaimedEvent;
  readonly job: NewJob;
}

/**
 * Adds the jobs of a batch. An event that was published in a trace is sent in it: its job continues that span, and the span of the whole
 * batch, which belongs to no one trace, links to each of them.
 */
export async function addTraced(backend: Pick<QueueBackend, "addAll">, routed: readonly RoutedEvent[]): Promise<AddResult[]> {
  const events = routed.map(({ event }) => event).filter(({ traceparent }) => traceparent !== null);
  if (events.length === 0) return backend.addAll(routed.map(({ job }) => job));
  const attributes = { "messaging.operation.name": "hand-off", "messaging.batch.message_count": routed.length };
  const batch = startSpan("hand-off", { kind: SpanKind.INTERNAL, parent: null, links: events, attributes });
  const sent = routed.map(({ event, job }) => sendIn(event, job));
  const results = await backend.addAll(sent.map(({ job }) => job)).finally(() => batch.end());
  for (const [index, { span }] of sent.entries()) {
    const result = results[index];
    if (result?.ok === false) failSpan(span, result.error);
    span.end();
  }
  return results;
}

function sendIn(event: ClaimedEvent, job: NewJob) {
  const span = startSpan(`send ${job.queue}`, {
    kind: SpanKind.PRODUCER,
    parent: event,
    attributes: {
      "messaging.system": "bullmq",
      "messaging.operation.name": "send",
      "messaging.operation.type": "send",
      "messaging.destination.name": job.queue,
      "messaging.message.id": event.id,
    },
  });
  // Where this process does not trace, the job continues the event's own.
  return { span, job: { ...job, data: { ...(job.data as object), ...traceContextOf(span) } } };
}
