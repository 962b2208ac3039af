import type { ClaimedEvent } from "../claimed-event.ts";
import { handOff, snoozeUnreachable, type HandOffDeps } from "../hand-off.ts";
import type { Settlement } from "../sql/settle-events.ts";

/**
 * Hands off one event. While the queue's server is away only one attempt at a time tries it: each would otherwise keep a worker for the
 * whole time-out, and with it the events that need no queue.
 */
export function createQueueAttempt(deps: HandOffDeps): (event: ClaimedEvent) => Promise<Settlement> {
  let away = false;
  let trying = 0;
  return async (event) => {
    if (away && trying > 0) return snoozeUnreachable(event);
    trying += 1;
    try {
      const { settlements, unreachable } = await handOff(deps, [event]);
      away = unreachable;
      return settlements[0] ?? snoozeUnreachable(event);
    } finally {
      trying -= 1;
    }
  };
}
