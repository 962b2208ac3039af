import { errorCodeOf } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";

const LOCK_NOT_AVAILABLE = "55P03";
const SNOOZE_MS = 1000;

/**
 * What a delivery answers to a lock that somebody else held for too long: that says nothing about its event, so it waits a moment and uses
 * no attempt. Null for every other error.
 */
export function lockSnooze(error: unknown): JobOutcome | null {
  return errorCodeOf(error) === LOCK_NOT_AVAILABLE ? { kind: "snooze", untilMs: Date.now() + SNOOZE_MS } : null;
}
