import type { Router } from "@toolctrl/event-router/router";
import type { Settlement } from "../sql/settle-events.ts";

/** The end of an event whose process died each time it was claimed alone, as often as the crash budget allows. */
export function settleExhausted(
  event: { readonly id: string; readonly lockToken: string; readonly eventType: string; readonly crashes: number },
  router: Router,
): Settlement {
  return {
    id: event.id,
    lockToken: event.lockToken,
    outcome: "dead",
    errorCode: "DB.LEASE_LOST",
    error: `lease expired: the process died ${event.crashes} times while it held this event alone`,
    parks: router(event.eventType)?.deadHead === "park",
    crashed: true,
  };
}
