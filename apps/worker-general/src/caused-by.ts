import type { Delivery } from "@toolctrl/consumer/define";
import { activeTraceContext } from "@toolctrl/tracing/spans";

/** What an event says that is published because of this one. */
export function causedBy({ eventId, envelope }: Pick<Delivery, "eventId" | "envelope">) {
  const { correlationId, depth } = envelope;
  // The span of the delivery where this process traces, else what the event itself continues.
  const active = activeTraceContext();
  const { traceparent, tracestate } = active.traceparent === undefined ? envelope : active;
  return {
    causationId: eventId,
    depth: depth + 1,
    correlationId: correlationId ?? undefined,
    traceparent: traceparent ?? undefined,
    tracestate: tracestate ?? undefined,
  };
}
