import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Settlement } from "./sql/settle-events.ts";

/** What one tick did, in events. */
export interface TickReport {
  readonly claimed: number;
  readonly done: number;
  readonly retried: number;
  readonly snoozed: number;
  readonly dead: number;
  readonly leaseLost: number;
}

export type Tally = { -readonly [Key in keyof TickReport]: number };

export const emptyTally = (): Tally => ({ claimed: 0, done: 0, retried: 0, snoozed: 0, dead: 0, leaseLost: 0 });

type Report = (settlements: readonly Settlement[], lost: ReadonlySet<string>, tally: Tally) => void;

/** Counts settled claims, and logs each that did not end in a hand-off. */
export function createSettlementReport({ metrics, log }: { metrics: Metrics; log: Logger }): Report {
  return (settlements, lost, tally) => {
    const settled = new Map<Settlement["outcome"], number>();
    for (const settlement of settlements) {
      if (lost.has(settlement.id)) {
        tally.leaseLost += 1;
        metrics.add("outbox_lease_lost_total", 1);
        log.warn({ eventId: settlement.id, outcome: settlement.outcome }, "lease lost: the event belongs to another claim now");
      } else {
        settled.set(settlement.outcome, (settled.get(settlement.outcome) ?? 0) + 1);
        reportOne(settlement, tally);
      }
    }
    for (const [outcome, count] of settled) metrics.add("outbox_settles_total", count, { outcome });
  };

  function reportOne(settlement: Settlement, tally: Tally): void {
    switch (settlement.outcome) {
      case "done":
        tally.done += 1;
        return;
      case "retry":
        tally.retried += 1;
        metrics.add("outbox_retries_total", 1);
        return log.warn(factsOf(settlement), "hand-off failed, backing off");
      case "snooze":
        tally.snoozed += 1;
        return log.debug(factsOf(settlement), "hand-off postponed");
      case "dead":
        tally.dead += 1;
        metrics.add("outbox_dead_total", 1, { code: settlement.errorCode });
        return log.error(factsOf(settlement), "event failed for good");
    }
  }
}

function factsOf(settlement: Exclude<Settlement, { outcome: "done" }>): Record<string, unknown> {
  const { lockToken: _fence, id, ...facts } = settlement;
  return { eventId: id, ...facts };
}
