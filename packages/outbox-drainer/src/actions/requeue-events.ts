import { transaction, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import type { Router } from "@toolctrl/event-router/router";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { ActionReport, EventOutcome } from "./event-outcome.ts";
import { findMisrouted } from "./find-misrouted.ts";
import { listDoneReceipts, type DoneReceipt } from "./list-done-receipts.ts";
import { markRequeued, type RequeuedRow } from "./mark-requeued.ts";
import { readEventStates, type EventState } from "./read-event-states.ts";
import { recordAction } from "./record-action.ts";
import { splitConsumers } from "./split-consumers.ts";

export interface RequeueRequest {
  readonly ids: readonly string[];
  readonly actor: string;
  readonly reason?: string | null;
  /** Each event becomes due at a random moment of this window from now, so that a bulk does not arrive at once. Default 0. */
  readonly jitterMs?: number;
  /** Repeats the effect of this one consumer on purpose; without it, consumers that have a receipt stay suppressed. */
  readonly replay?: { readonly consumer: string };
  /** More facts for the audit row, such as the filter of a bulk. */
  readonly params?: JsonObject;
}

/**
 * Sends finished events out again, in one transaction with its audit row: FAILED, CANCELLED and DONE become PENDING under a new
 * generation; PENDING and PROCESSING are refused. When two operators ask at once, one of them requeues and the other is refused.
 */
export async function requeueEvents(deps: { pool: Database["pool"]; router: Router }, request: RequeueRequest): Promise<ActionReport> {
  const ids = [...new Set(request.ids)];
  return transaction(deps.pool, async (tx) => {
    const before = await readEventStates(tx, ids);
    const misrouted = findMisrouted(deps.router, before, request.replay?.consumer ?? null);
    const requeued = await markRequeued(tx, {
      ids: [...before.keys()].filter((id) => !misrouted.has(id)),
      jitterMs: request.jitterMs ?? 0,
      replayConsumer: request.replay?.consumer ?? null,
    });
    const rows = new Map(requeued.map((row) => [row.id, row]));
    const rest = await readEventStates(
      tx,
      ids.filter((id) => !rows.has(id)),
    );
    const receipts = await listDoneReceipts(tx, [...rows.keys()]);
    const events = ids.map((id): EventOutcome => {
      const row = rows.get(id);
      if (row !== undefined) return requeuedOutcome(deps.router, row, receipts);
      const state = rest.get(id);
      return state === undefined ? { id, outcome: "not-found" } : refusedOutcome(state, misrouted.get(id));
    });
    return { actionId: before.size === 0 ? null : await record(tx, request, requeued, events), events };
  });
}

function requeuedOutcome(router: Router, row: RequeuedRow, receipts: readonly DoneReceipt[]): EventOutcome {
  const { id, from, eventType, generation, effectEpoch, replayConsumer, scheduledAt } = row;
  return {
    id,
    outcome: "requeued",
    from,
    eventType,
    generation,
    effectEpoch,
    replayConsumer,
    scheduledAt,
    ...splitConsumers(router, row, receipts),
  };
}

function refusedOutcome(state: EventState, misrouted: string | undefined): EventOutcome {
  const why = misrouted ?? `expected the event to be FAILED, CANCELLED or DONE, got ${state.status}`;
  return { id: state.id, outcome: "refused", status: state.status, eventType: state.eventType, why };
}

function record(
  tx: Queryable,
  request: RequeueRequest,
  requeued: readonly RequeuedRow[],
  events: readonly EventOutcome[],
): Promise<string> {
  return recordAction(tx, {
    actor: request.actor,
    action: request.replay === undefined ? "requeue" : "replay",
    reason: request.reason ?? null,
    params: {
      ...request.params,
      jitterMs: request.jitterMs ?? 0,
      ...(request.replay === undefined ? {} : { consumer: request.replay.consumer }),
      // The row forgets its failures now; this is where they stay readable.
      before: requeued.map(({ id, from, retries, crashes, lastErrorCode, lastError, processedAt }) => ({
        id,
        from,
        retries,
        crashes,
        lastErrorCode,
        lastError,
        processedAt: processedAt?.toISOString() ?? null,
      })),
      refused: events.flatMap((event) => (event.outcome === "refused" ? [{ id: event.id, status: event.status }] : [])),
    },
    eventIds: requeued.map((row) => row.id),
  });
}
