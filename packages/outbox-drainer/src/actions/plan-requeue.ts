import type { Queryable } from "@toolctrl/db/sql";
import type { Router } from "@toolctrl/event-router/router";
import type { OutboxStatus } from "./event-filter.ts";
import { findMisrouted } from "./find-misrouted.ts";
import { listDoneReceipts } from "./list-done-receipts.ts";
import { readEventStates } from "./read-event-states.ts";
import { splitConsumers, type SplitConsumers } from "./split-consumers.ts";

/** What a requeue would do to one event, if its state stays as it is. */
export type PlannedRequeue =
  | ({
      readonly id: string;
      readonly outcome: "would-requeue";
      readonly status: OutboxStatus;
      readonly eventType: string;
      /** Its record, when younger events of it may have gone before: a parked event has kept its place. */
      readonly mayFollowYoungerOf: string | null;
    } & SplitConsumers)
  | { readonly id: string; readonly outcome: "refused"; readonly status: OutboxStatus; readonly eventType: string; readonly why: string }
  | { readonly id: string; readonly outcome: "not-found" };

export const REQUEUEABLE: readonly OutboxStatus[] = ["FAILED", "CANCELLED", "DONE"];

/** Looks at what a requeue (with `replayConsumer`, a replay) of these events would do. Changes and locks nothing. */
export async function planRequeue(
  deps: { db: Queryable; router: Router },
  request: { ids: readonly string[]; replayConsumer: string | null },
): Promise<PlannedRequeue[]> {
  const ids = [...new Set(request.ids)];
  const states = await readEventStates(deps.db, ids);
  const receipts = await listDoneReceipts(deps.db, ids);
  const misrouted = findMisrouted(deps.router, states, request.replayConsumer);
  return ids.map((id): PlannedRequeue => {
    const state = states.get(id);
    if (state === undefined) return { id, outcome: "not-found" };
    const { status, eventType } = state;
    if (!REQUEUEABLE.includes(status))
      return { id, outcome: "refused", status, eventType, why: `expected the event to be ${nameStates(REQUEUEABLE)}, got ${status}` };
    const wrong = misrouted.get(id);
    if (wrong !== undefined) return { id, outcome: "refused", status, eventType, why: wrong };
    const next =
      request.replayConsumer === null ? state : { ...state, effectEpoch: state.effectEpoch + 1, replayConsumer: request.replayConsumer };
    const mayFollowYoungerOf = state.blocksLine ? null : state.recordKey;
    return { id, outcome: "would-requeue", status, eventType, mayFollowYoungerOf, ...splitConsumers(deps.router, next, receipts) };
  });
}

function nameStates(states: readonly string[]): string {
  return `${states.slice(0, -1).join(", ")} or ${states.at(-1)}`;
}
