import { transaction, type Database } from "@toolctrl/db/client";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { ActionReport, EventOutcome } from "./event-outcome.ts";
import { markCancelled } from "./mark-cancelled.ts";
import { readEventStates } from "./read-event-states.ts";
import { recordAction } from "./record-action.ts";

export interface CancelRequest {
  readonly ids: readonly string[];
  readonly actor: string;
  readonly reason?: string | null;
  /** More facts for the audit row, such as the filter of a bulk. */
  readonly params?: JsonObject;
}

/**
 * Cancels events that are PENDING or FAILED, in one transaction with its audit row; PROCESSING, DONE and CANCELLED are refused.
 * A cancelled event stays in the table and can be requeued.
 */
export async function cancelEvents(deps: { pool: Database["pool"] }, request: CancelRequest): Promise<ActionReport> {
  const ids = [...new Set(request.ids)];
  return transaction(deps.pool, async (tx) => {
    const cancelled = new Map((await markCancelled(tx, ids)).map((row) => [row.id, row]));
    const rest = await readEventStates(
      tx,
      ids.filter((id) => !cancelled.has(id)),
    );
    const events = ids.map((id): EventOutcome => {
      const row = cancelled.get(id);
      if (row !== undefined) return { id, outcome: "cancelled", from: row.from, eventType: row.eventType };
      const state = rest.get(id);
      if (state === undefined) return { id, outcome: "not-found" };
      const why = `expected the event to be PENDING or FAILED, got ${state.status}`;
      return { id, outcome: "refused", status: state.status, eventType: state.eventType, why };
    });
    if (cancelled.size + rest.size === 0) return { actionId: null, events };
    const actionId = await recordAction(tx, {
      actor: request.actor,
      action: "cancel",
      reason: request.reason ?? null,
      params: {
        ...request.params,
        before: [...cancelled.values()].map(({ id, from }) => ({ id, from })),
        refused: [...rest.values()].map(({ id, status }) => ({ id, status })),
      },
      eventIds: [...cancelled.keys()],
    });
    return { actionId, events };
  });
}
