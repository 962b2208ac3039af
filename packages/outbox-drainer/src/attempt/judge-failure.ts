import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import { backoffMs } from "../backoff.ts";
import type { ClaimedEvent } from "../claimed-event.ts";
import type { Settlement } from "../sql/settle-events.ts";
import { LOCK_NOT_AVAILABLE, sqlStateOf } from "@toolctrl/db/client";

/** ms until an event that waited too long for a lock is tried again; doubles with each time, up to the longest. */
const FIRST_SNOOZE_MS = 1_000;
const LONGEST_SNOOZE_MS = 5_000;
/** ms until an event is tried again whose attempt could not begin. */
const NOT_BEGUN_SNOOZE_MS = 5_000;

/**
 * What becomes of an event whose attempt failed. A lock that was not granted in time is nobody's failure: the event is put off for a
 * moment and nothing is counted. Everything else counts and backs off.
 */
export function judgeFailure(event: ClaimedEvent, error: unknown, rule: { maxRetries: number; parks: boolean }): Settlement {
  const base = baseOf(event, error);
  if (sqlStateOf(error) === LOCK_NOT_AVAILABLE) return { ...base, outcome: "snooze", delayMs: snoozeMs(event) };
  if (event.retries + 1 > rule.maxRetries) return { ...base, outcome: "dead", parks: rule.parks };
  return { ...base, outcome: "retry", delayMs: backoffMs(event.retries + 1) };
}

/** An attempt that found no connection, or a server that takes no writes: the event is not to blame. */
export function judgeNotBegun(event: ClaimedEvent, error: unknown): Settlement {
  return { ...baseOf(event, error), outcome: "snooze", delayMs: NOT_BEGUN_SNOOZE_MS };
}

function baseOf(event: ClaimedEvent, error: unknown): { id: string; lockToken: string; errorCode: string; error: string } {
  return { id: event.id, lockToken: event.lockToken, errorCode: sqlStateOf(error) ?? errorCodeOf(error), error: describeError(error) };
}

/** Claims that were neither failures nor crashes were put off before. Spread, so that those that waited together do not come back together. */
function snoozeMs({ attempts, retries, crashes }: ClaimedEvent): number {
  const before = Math.max(0, attempts - 1 - retries - crashes);
  return Math.min(LONGEST_SNOOZE_MS, FIRST_SNOOZE_MS * 2 ** Math.min(before, 10)) * (0.75 + Math.random() / 2);
}
