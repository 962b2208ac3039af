import type { RouteRule, Router } from "@toolctrl/event-router/router";

/** Why the events of a route wait while pull workers drain: one of its consumers is out of scope. */
export interface Hold {
  readonly consumer: string;
  readonly reason: string;
  /** The day it was left out, `YYYY-MM-DD`. */
  readonly since: string;
}

/** Which routes are held. A port: the apps take it from the consumer map. */
export type HeldBy = (route: RouteRule) => Hold | null;

export const NOTHING_HELD: HeldBy = () => null;

/** The error code of an event that was put off because of a held route; "OutboxEvent_held_idx" names it too. */
export const HELD_CODE = "ROUTER.HELD";

/** What holds an event of this type, or null. */
export function createHoldOf(router: Router, heldBy: HeldBy): (eventType: string) => Hold | null {
  return (eventType) => {
    const rule = router(eventType);
    return rule === null ? null : heldBy(rule);
  };
}

/** The `lastError` of a held event, and what an operator is told of it. */
export function describeHold({ consumer, reason, since }: Hold): string {
  return `expected ${consumer} to be in scope, got it left out since ${since}: ${reason}`;
}
