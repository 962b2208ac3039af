import { transaction, type Database } from "@toolctrl/db/client";
import type { ActionReport, EventOutcome } from "../actions/event-outcome.ts";
import { readEventStates, type EventState } from "../actions/read-event-states.ts";
import { recordAction } from "../actions/record-action.ts";
import { markSkipped } from "./sql/mark-skipped.ts";

export interface SkipRequest {
  readonly ids: readonly string[];
  readonly actor: string;
  readonly reason?: string | null;
}

/**
 * Lets the lines go on without their parked heads, in one transaction with its audit row. A skipped event stays FAILED and can still be
 * requeued; it then follows the younger ones that went before it. Every other event is refused.
 */
export async function skipEvents(deps: { pool: Database["pool"] }, request: SkipRequest): Promise<ActionReport> {
  const ids = [...new Set(request.ids)];
  return transaction(deps.pool, async (tx) => {
    const skipped = new Map((await markSkipped(tx, ids)).map((row) => [row.id, row]));
    const rest = await readEventStates(
      tx,
      ids.filter((id) => !skipped.has(id)),
    );
    const events = ids.map((id): EventOutcome => {
      const row = skipped.get(id);
      if (row !== undefined) return { id, outcome: "skipped", from: "FAILED", eventType: row.eventType };
      const state = rest.get(id);
      return state === undefined ? { id, outcome: "not-found" } : refused(state);
    });
    if (skipped.size + rest.size === 0) return { actionId: null, events };
    const actionId = await recordAction(tx, {
      actor: request.actor,
      action: "skip",
      reason: request.reason ?? null,
      params: { refused: [...rest.values()].map(({ id, status }) => ({ id, status })) },
      eventIds: [...skipped.keys()],
    });
    return { actionId, events };
  });
}

/** Why an event cannot be skipped, or null when it can. */
export function whyNotSkip({ status, blocksLine }: Pick<EventState, "status" | "blocksLine">): string | null {
  if (status !== "FAILED") return `expected the event to be FAILED, got ${status}`;
  return blocksLine
    ? null
    : "expected the event to hold its line, but nothing waits for it: its route does not park, or it was skipped before";
}

function refused(state: EventState): EventOutcome {
  const { id, status, eventType } = state;
  // Between the marking and this look it can only have left the state that can be skipped.
  const why = whyNotSkip(state) ?? "it was changed by somebody else meanwhile";
  return { id, outcome: "refused", status, eventType, why };
}
