import { askServerState, DISK_FULL, isDatabaseAway, sqlStateOf, type Database, type ServerState } from "@toolctrl/db/client";
import type { JobOutcome } from "@toolctrl/queue/port";

/** About how long a delivery waits that met an outage, ms. */
const PAUSE_MS = 10_000;

/**
 * What becomes of an outcome, seen from outside of the delivery.
 * @param maybeItsDoing whether the delivery itself may have brought the server down
 */
export type OutagePause = (outcome: JobOutcome, maybeItsDoing: boolean) => Promise<JobOutcome>;

/**
 * Makes a wait that costs no attempt of a failure that an outage of the database has caused: nothing of it is the event's fault, and its attempts are used up
 * within minutes. What a failure looks like is not enough for it: a handler that breaks its connection each time would never come to an end. Nor is a server that is
 * away: the handler's statement may have crashed it. That it takes no writes is no statement's doing.
 */
export function createOutagePause(pool: Database["pool"]): OutagePause {
  let asked: Promise<ServerState> | undefined;
  // Once for all deliveries that fail at the same moment.
  const ask = (): Promise<ServerState> => (asked ??= askServerState(pool).finally(() => void (asked = undefined)));
  return async (outcome, maybeItsDoing) => {
    if (outcome.kind !== "retry" || !isDatabaseAway(outcome.error)) return outcome;
    // A full server says so itself, and still answers those who only ask.
    const state = sqlStateOf(outcome.error) === DISK_FULL ? "away" : await ask();
    if (state === "serving" || (state === "away" && maybeItsDoing)) return outcome;
    // Not all of them at once.
    return { kind: "snooze", untilMs: Date.now() + PAUSE_MS * (0.5 + Math.random()) };
  };
}
