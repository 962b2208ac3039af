import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import type { Delivery } from "./define.ts";

/**
 * The name under which a delivery's claim and receipt stand: the consumer's, and `consumer/target` for a job that is one of several of its
 * event, so that each of them is finished, suppressed and dead by itself.
 */
export function receiptName(consumer: string, { target }: Pick<JobEnvelope, "target">): string {
  return target === undefined ? consumer : `${consumer}/${target}`;
}

/**
 * The epoch a consumer's effect has in this delivery: only the replayed consumer repeats, held back by its receipt of this very epoch; the
 * others stay in epoch 0, and a receipt of any epoch holds them back.
 */
export function effectiveEpoch(
  envelope: Pick<JobEnvelope, "effectEpoch" | "replayConsumer">,
  consumer: string,
): { effectEpoch: number; anyEpoch: boolean } {
  const replayed = envelope.replayConsumer === consumer;
  return { effectEpoch: replayed ? envelope.effectEpoch : 0, anyEpoch: !replayed };
}

/** What a handler's own receipt stands under, for `withOutboxReceipt` in the transaction of its effect. */
export function receiptScopeOf(consumer: string, delivery: Pick<Delivery, "eventId" | "tenantId" | "effectEpoch" | "envelope">) {
  const { eventId, tenantId, effectEpoch, envelope } = delivery;
  const { anyEpoch } = effectiveEpoch(envelope, consumer);
  return { eventId, tenantId, effectEpoch, consumer: receiptName(consumer, envelope), anyEpoch };
}
