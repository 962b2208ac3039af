import { isDatabaseAway, isServerAway, type Database } from "@toolctrl/db/client";
import type { JobOutcome } from "@toolctrl/queue/port";

/** About how long a delivery waits that met an outage, ms. */
const PAUSE_MS = 10_000;

/** What becomes of an outcome, seen from outside of the delivery. */
export type OutagePause = (outcome: JobOutcome) => Promise<JobOutcome>;

/**
 * Makes a wait that costs no attempt of a failure that an outage of the database has caused: nothing of it is the event's fault, and its attempts are used up
 * within minutes. What a failure looks like is not enough for it: a handler that breaks its connection each time would never come to an end.
 */
export function createOutagePause(pool: Database["pool"]): OutagePause {
  let asked: Promise<boolean> | undefined;
  // Once for all deliveries that fail at the same moment.
  const isAway = (): Promise<boolean> => (asked ??= isServerAway(pool).finally(() => void (asked = undefined)));
  return async (outcome) => {
    if (outcome.kind !== "retry" || !isDatabaseAway(outcome.error) || !(await isAway())) return outcome;
    // Not all of them at once.
    return { kind: "snooze", untilMs: Date.now() + PAUSE_MS * (0.5 + Math.random()) };
  };
}
