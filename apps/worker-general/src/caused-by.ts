import type { Delivery } from "@toolctrl/consumer/define";

/** What an event says that is published because of this one. */
export function causedBy({ eventId, envelope }: Pick<Delivery, "eventId" | "envelope">) {
  const { correlationId, depth, traceparent, tracestate } = envelope;
  return {
    causationId: eventId,
    depth: depth + 1,
    correlationId: correlationId ?? undefined,
    traceparent: traceparent ?? undefined,
    tracestate: tracestate ?? undefined,
  };
}
