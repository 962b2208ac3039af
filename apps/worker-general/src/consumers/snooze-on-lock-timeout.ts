import { errorCodeOf } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";

const LOCK_NOT_AVAILABLE = "55P03";
const SNOOZE_MS = 1000;

/** A lock that somebody else held for too long says nothing about this event: the delivery waits a moment and uses no attempt. */
export async function snoozeOnLockTimeout(run: () => Promise<JobOutcome>): Promise<JobOutcome> {
  try {
    return await run();
  } catch (error) {
    if (errorCodeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    return { kind: "snooze", untilMs: Date.now() + SNOOZE_MS };
  }
}
