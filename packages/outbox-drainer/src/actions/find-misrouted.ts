import type { Router } from "@toolctrl/event-router/router";
import type { EventState } from "./read-event-states.ts";

/** Events whose route has no such consumer, and why: replaying it there would do nothing, and say it did. */
export function findMisrouted(router: Router, states: ReadonlyMap<string, EventState>, consumer: string | null): Map<string, string> {
  const misrouted = new Map<string, string>();
  if (consumer === null) return misrouted;
  for (const { id, eventType } of states.values()) {
    const consumers = router(eventType)?.consumers ?? [];
    if (consumers.includes(consumer)) continue;
    misrouted.set(id, `expected ${consumer} to be a consumer of ${eventType}, got ${consumers.join(", ") || "none"}`);
  }
  return misrouted;
}
