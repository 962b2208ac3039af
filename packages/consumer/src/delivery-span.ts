import { failSpan, inSpan, SpanKind, type TraceContext } from "@toolctrl/tracing/spans";
import type { DeliveredJob, JobOutcome } from "@toolctrl/queue/port";
import type { Consumer } from "./define.ts";
import type { DeliveryEnd } from "./deliver.ts";

/**
 * Runs a delivery in a span of its event's trace, as a child of the hand-off. A later try is a child of it too, and links to it, so that
 * tries can be told from what one delivery did.
 */
export function inDeliverySpan(consumer: Consumer, job: DeliveredJob, run: () => Promise<DeliveryEnd>): Promise<JobOutcome> {
  const parent = traceContextIn(job.data);
  const attributes = {
    "messaging.system": "bullmq",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.destination.name": consumer.queue,
    "messaging.consumer.group.name": consumer.name,
    "toolctrl.try": job.starts,
  };
  const links = job.starts > 1 ? [parent] : [];
  return inSpan(`process ${consumer.queue}`, { kind: SpanKind.CONSUMER, parent, links, attributes }, async (span) => {
    const { outcome, duplicate, envelope } = await run();
    span.setAttribute("toolctrl.outcome", duplicate ? "duplicate" : outcome.kind);
    if (envelope !== undefined) span.setAttribute("messaging.message.id", envelope.outboxEventId);
    if (outcome.kind === "retry" || outcome.kind === "cancel") failSpan(span, outcome.error);
    return outcome;
  });
}

/** Of whatever a job carries: whether it is an envelope is found out inside the span. */
function traceContextIn(data: unknown): TraceContext {
  if (typeof data !== "object" || data === null) return {};
  const { traceparent, tracestate } = data as Record<string, unknown>;
  return {
    ...(typeof traceparent === "string" ? { traceparent } : {}),
    ...(typeof tracestate === "string" ? { tracestate } : {}),
  };
}
