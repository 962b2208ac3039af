import type { Queryable } from "@toolctrl/db/sql";
import { insertExecution } from "../executions/insert-execution.ts";
import type { TriggerEvent } from "./trigger-event.ts";
import type { TriggerStore } from "./trigger-store.ts";

/** How many runs an event made. */
export interface TriggerSummary {
  readonly started: number;
  readonly rejected: number;
  readonly skipped: number;
}

/**
 * Starts the live workflows that an event matches, in the caller's transaction: a run, and the event that has it run, for each; or a run that
 * ended before it began, with the reason. One run per workflow and event, however often the event comes.
 */
export async function fanOutTrigger(tx: Queryable, event: TriggerEvent, store: TriggerStore): Promise<TriggerSummary> {
  const summary = { started: 0, rejected: 0, skipped: 0 };
  for (const { workflowId, version, ...candidate } of await store.findCandidates(tx, event)) {
    const verdict = store.preflight(candidate);
    if (verdict.kind === "none") continue;
    const { tenantId, source, eventId, correlationId } = event;
    const end = verdict.kind === "run" ? null : { status: verdict.kind, error: verdict.error };
    const started = {
      tenantId,
      workflowId,
      version,
      startedBy: source,
      triggerEventId: eventId,
      correlationId,
      input: candidate.input,
      depth: candidate.depth,
    };
    const { duplicate } = await insertExecution(tx, { ...started, end });
    if (!duplicate) summary[verdict.kind === "run" ? "started" : verdict.kind] += 1;
  }
  return summary;
}
