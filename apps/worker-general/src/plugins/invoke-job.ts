import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import { activeTraceContext } from "@toolctrl/tracing/spans";
import { HANDED_ON, handedOnJobId } from "@toolctrl/queue/handed-on-jobs";
import type { NewJob, QueueBackend } from "@toolctrl/queue/port";
import { PLUGIN_INVOKE } from "./invocation.ts";

/**
 * The job that calls one subscription of an event. It carries no payload: as many copies of it as there are subscriptions would fill the queue, so
 * each reads the event's row. A requeue of the event raises the generation, so that a kept finished job does not swallow the new one.
 */
export function invokeJobOf(envelope: JobEnvelope, target?: string): NewJob {
  const { payload: _inRow, ...data } = envelope;
  const { outboxEventId: id, generation } = envelope;
  return {
    queue: HANDED_ON[PLUGIN_INVOKE].queue,
    id: handedOnJobId(PLUGIN_INVOKE, { id, generation }, target),
    name: "plugin.invoke",
    data: { ...data, ...activeTraceContext(), ...(target === undefined ? {} : { target }) } satisfies JobEnvelope,
  };
}

/**
 * The one job of a probe, which is for no subscription: its receipt is the one that the route expects.
 * @throws CodedError `QUEUE.*`
 */
export async function addProbeJob(backend: Pick<QueueBackend, "addAll">, envelope: JobEnvelope): Promise<void> {
  const [added] = await backend.addAll([invokeJobOf(envelope)]);
  if (added?.ok === false) throw added.error;
}

/**
 * Hands an event on to its subscriptions; those whose job is there already are left alone.
 * @throws CodedError `QUEUE.*`, the first, after all were tried
 */
export async function addInvokeJobs(
  backend: Pick<QueueBackend, "addAll">,
  envelope: JobEnvelope,
  targets: readonly string[],
): Promise<void> {
  if (targets.length === 0) return;
  const added = await backend.addAll(targets.map((target) => invokeJobOf(envelope, target)));
  for (const result of added) if (!result.ok) throw result.error;
}
