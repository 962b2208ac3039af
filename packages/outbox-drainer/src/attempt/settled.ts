import type { Settlement } from "../sql/settle-events.ts";

/**
 * How an attempt ended.
 * - `kept`: the settlement stands. `lost`: the claim had gone to somebody else, so nothing of the attempt was kept.
 * - `unsettled`: the database stayed away until the bookkeeping gave up; the event waits for its lease.
 */
export interface Settled {
  readonly settlement: Settlement;
  readonly fate: "kept" | "lost" | "unsettled";
}
