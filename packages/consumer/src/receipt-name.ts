import type { JobEnvelope } from "@toolctrl/foundation/envelope";

/**
 * The name under which a delivery's claim and receipt stand: the consumer's, and `consumer/target` for a job that is one of several of its
 * event, so that each of them is finished, suppressed and dead by itself.
 */
export function receiptName(consumer: string, { target }: Pick<JobEnvelope, "target">): string {
  return target === undefined ? consumer : `${consumer}/${target}`;
}
