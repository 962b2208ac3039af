import type { Database } from "@toolctrl/db/client";
import {
  pickMatchingEvents,
  type ActionReport,
  type EventFilter,
  type EventOutcome,
  type PickCursor,
} from "@toolctrl/outbox-drainer/actions";
import type { Io } from "../io.ts";
import { createProgress } from "../output/progress.ts";
import { watchInterrupt } from "./watch-interrupt.ts";

export interface BulkReport {
  readonly changed: number;
  readonly refused: number;
  /** The first refusals; the audit rows have all of them. */
  readonly refusedEvents: ReadonlyArray<Extract<EventOutcome, { outcome: "refused" }>>;
  readonly batches: number;
  /** The audit rows, one per batch. */
  readonly actionIds: readonly string[];
  /** Whether more events match than the limit took. */
  readonly more: boolean;
  /** Whether Ctrl-C ended it before its time; the batch that ran was finished. */
  readonly interrupted: boolean;
}

export interface Bulk {
  readonly filter: EventFilter;
  readonly limit: number;
  readonly batchSize: number;
  /** How many are expected, for the progress. */
  readonly total: number;
  readonly verb: string;
  readonly act: (ids: readonly string[]) => Promise<ActionReport>;
}

const SHOWN_REFUSALS = 100;

/** Carries an action out batch by batch, each in its own transaction with its own audit row. Ctrl-C lets the running batch end. */
export async function runBulk(io: Io, pool: Database["pool"], bulk: Bulk): Promise<BulkReport> {
  const progress = createProgress(io, bulk.verb, bulk.total);
  const interrupt = watchInterrupt();
  const outcomes = { changed: 0, refused: 0, refusedEvents: [] as Array<Extract<EventOutcome, { outcome: "refused" }>> };
  const actionIds: string[] = [];
  let batches = 0;
  let taken = 0;
  let cursor: PickCursor | null = null;
  try {
    while (taken < bulk.limit && !interrupt.signal.aborted) {
      const page: Awaited<ReturnType<typeof pickMatchingEvents>> = await pickMatchingEvents(
        pool,
        bulk.filter,
        cursor,
        Math.min(bulk.batchSize, bulk.limit - taken),
      );
      if (page.cursor === null) return { ...outcomes, batches, actionIds, more: false, interrupted: false };
      cursor = page.cursor;
      taken += page.ids.length;
      batches += 1;
      const report = await bulk.act(page.ids);
      if (report.actionId !== null) actionIds.push(report.actionId);
      tally(outcomes, report);
      progress.step(taken);
    }
    const more = (await pickMatchingEvents(pool, bulk.filter, cursor, 1)).ids.length > 0;
    return { ...outcomes, batches, actionIds, more, interrupted: interrupt.signal.aborted };
  } finally {
    progress.end();
    interrupt.stop();
  }
}

function tally(
  sums: { changed: number; refused: number; refusedEvents: Array<Extract<EventOutcome, { outcome: "refused" }>> },
  report: ActionReport,
): void {
  for (const event of report.events) {
    if (event.outcome === "requeued" || event.outcome === "cancelled") sums.changed += 1;
    if (event.outcome !== "refused") continue;
    sums.refused += 1;
    if (sums.refusedEvents.length < SHOWN_REFUSALS) sums.refusedEvents.push(event);
  }
}
