import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import { activeTraceContext } from "@toolctrl/tracing/spans";
import { HANDED_ON, handedOnJobId } from "@toolctrl/queue/handed-on-jobs";
import type { NewJob, QueueBackend } from "@toolctrl/queue/port";

/**
 * The job that sends the mail of an event. It carries no payload: the mail is in its row by then.
 * A requeue of the event raises the generation, so that a kept finished job does not swallow the new one.
 */
export function emailJobOf(envelope: JobEnvelope): NewJob {
  const { payload: _rendered, ...data } = envelope;
  const { outboxEventId: id, generation } = envelope;
  return {
    queue: HANDED_ON["email-send"].queue,
    id: handedOnJobId("email-send", { id, generation }),
    name: "email.send",
    data: { ...data, ...activeTraceContext() },
  };
}

/**
 * Hands an event on to `email-send`; does nothing when its job is there already.
 * @throws CodedError `QUEUE.*`
 */
export async function addEmailJob(backend: Pick<QueueBackend, "addAll">, envelope: JobEnvelope): Promise<void> {
  const [added] = await backend.addAll([emailJobOf(envelope)]);
  if (added?.ok === false) throw added.error;
}
