import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { QueueName } from "@toolctrl/foundation/queues";
import { jobIdOf } from "./job-id.ts";

/** Consumers whose jobs are added by the consumer before them, not by a drainer: their queue, the kind of their job ids, and whether an event has one job for each of several targets. */
export const HANDED_ON = {
  "email-send": { queue: "toolctrl.email", kind: "email", perTarget: false },
  "plugin-invoke": { queue: "toolctrl.plugin-invoke", kind: "plugin", perTarget: true },
} as const satisfies Partial<Record<ConsumerName, { queue: QueueName; kind: string; perTarget: boolean }>>;

export type HandedOnConsumer = keyof typeof HANDED_ON;

export function isHandedOn(consumer: string): consumer is HandedOnConsumer {
  return Object.hasOwn(HANDED_ON, consumer);
}

/**
 * The id of the job that hands an event on to a consumer: the same each time, until the event is requeued.
 * @throws CodedError `QUEUE.JOB_ID`
 */
export function handedOnJobId(consumer: HandedOnConsumer, event: { id: string; generation: number }, target = ""): string {
  return jobIdOf(HANDED_ON[consumer].kind, target === "" ? event.id : `${event.id}-${target}`, event.generation);
}
