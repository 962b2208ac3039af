import type { Queryable } from "@toolctrl/db/sql";
import { describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Hold } from "../held/hold.ts";
import { compareClaims, type ComparedEvent } from "./sql/compare-claims.ts";

/** Compares what pull workers would claim with what the dispatcher would; claims and locks nothing. */
export interface Shadow {
  compare(): Promise<void>;
}

/** Differences named in one log line. */
const NAMED = 10;

/** What pull workers would do with a due event: as compared, or put it off at once because its route is held. */
interface Foreseen {
  readonly id: string;
  readonly headId: string;
  readonly outcome: ComparedEvent["outcome"] | "held";
}

/**
 * Counts what pull workers would do with the due events that the dispatcher would claim next, and names those they would hold back. An
 * event that merely stands behind a due one of its record is no difference: the dispatcher keeps that order too.
 */
export function createShadow(deps: {
  db: Queryable;
  /** What holds an event of a type; nothing by default. */
  holdOf?: (eventType: string) => Hold | null;
  metrics: Metrics;
  log: Logger;
}): Shadow {
  const { db, holdOf = () => null, metrics, log } = deps;
  let said = "";

  async function look(): Promise<void> {
    const events = (await compareClaims(db)).map(foresee);
    for (const { outcome } of events) metrics.add("outbox_shadow_events_total", 1, { outcome });
    say(events.filter(({ outcome }) => outcome !== "claim" && outcome !== "behind-due"));
  }

  function foresee({ id, headId, eventType, outcome }: ComparedEvent): Foreseen {
    return { id, headId, outcome: outcome === "claim" && holdOf(eventType) !== null ? "held" : outcome };
  }

  function say(held: readonly Foreseen[]): void {
    const news = held.map(({ id, headId }) => `${id} ${headId}`).join();
    if (news === said) return;
    said = news;
    if (held.length === 0) return log.info("shadow: pull workers would claim what the dispatcher claims");
    log.info({ events: held.length, held: held.slice(0, NAMED) }, "shadow: pull workers would hold events that the dispatcher claims");
  }

  return {
    compare: () => look().catch((error: unknown) => log.warn({ error: describeError(error) }, "shadow: could not compare")),
  };
}
