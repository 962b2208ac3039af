import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { RouteRule, Router } from "@toolctrl/event-router/router";
import { describeError, errorCodeOf, isCodedError } from "@toolctrl/foundation/errors";
import type { AddResult, QueueBackend } from "@toolctrl/queue/port";
import { addTraced, type RoutedEvent } from "./add-traced.ts";
import { backoffMs } from "./backoff.ts";
import type { ClaimedEvent } from "./claimed-event.ts";
import { jobOfEvent } from "./job-of-event.ts";
import type { Settlement } from "./sql/settle-events.ts";

/** ms until an event is tried again that failed only because the queue's server was away. */
const UNREACHABLE_SNOOZE_MS = 5_000;

export interface HandOffDeps {
  readonly router: Router;
  readonly backend: Pick<QueueBackend, "addAll">;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly maxRetries: number;
}

export interface HandOff {
  readonly settlements: Settlement[];
  /** Whether the queue's server was away: then claiming more would only move events to and fro. */
  readonly unreachable: boolean;
}

/** Routes claimed events and adds their jobs in bulk; says how each claim ends. Writes nothing to the database. */
export async function handOff(deps: HandOffDeps, events: readonly ClaimedEvent[]): Promise<HandOff> {
  const settlements: Settlement[] = [];
  const routed: RoutedEvent[] = [];
  for (const event of events) {
    const rule = deps.router(event.eventType);
    if (rule?.target === "queue") routed.push({ event, job: jobOfEvent(event, rule.queue) });
    else settlements.push(refuse(deps, event, rule));
  }
  const results = routed.length === 0 ? [] : await addTraced(deps.backend, routed);
  let unreachable = false;
  const added = new Map<string, number>();
  routed.forEach(({ event, job }, index) => {
    const result = results[index] ?? { ok: false, error: new Error("expected an answer for each job, got none") };
    if (result.ok) {
      added.set(job.queue, (added.get(job.queue) ?? 0) + 1);
      settlements.push({ id: event.id, lockToken: event.lockToken, outcome: "done" });
      return;
    }
    deps.metrics.add("outbox_handoff_errors_total", 1, { queue: job.queue, code: errorCodeOf(result.error) });
    unreachable ||= isAway(result.error);
    settlements.push(settleFailure(event, result.error, deps));
  });
  for (const [queue, count] of added) deps.metrics.add("outbox_handoffs_total", count, { queue });
  return { settlements, unreachable };
}

/** An event nobody can take: FAILED at once, loudly, for a person to add the rule and requeue. */
function refuse(deps: HandOffDeps, event: ClaimedEvent, rule: RouteRule | null): Settlement {
  const error =
    rule === null
      ? `expected a routing rule for ${event.eventType}, got none`
      : `expected an after-save effect for ${event.eventType}, got none`;
  deps.metrics.add("outbox_unroutable_total", 1);
  deps.alerts.unroutable(event.eventType, { eventId: event.id, error });
  return { id: event.id, lockToken: event.lockToken, outcome: "dead", errorCode: "ROUTER.UNROUTABLE", error };
}

/**
 * A failure of the entry itself counts and backs off. A queue server that is away is not the event's fault: an outage longer than the
 * sum of all backoffs (63 minutes) would otherwise leave the whole backlog FAILED.
 */
function settleFailure(event: ClaimedEvent, failure: Error, deps: HandOffDeps): Settlement {
  const base = { id: event.id, lockToken: event.lockToken, errorCode: errorCodeOf(failure), error: describeError(failure) };
  if (isAway(failure)) return { ...snoozeUnreachable(event), ...base };
  if (event.retries + 1 > deps.maxRetries) return { ...base, outcome: "dead", parks: deps.router(event.eventType)?.deadHead === "park" };
  return { ...base, outcome: "retry", delayMs: backoffMs(event.retries + 1) };
}

/** Puts an event off that would only wait for a server that is away. */
export function snoozeUnreachable({ id, lockToken }: ClaimedEvent): Settlement & { outcome: "snooze" } {
  const error = "expected the queue's server to answer, got none a moment ago";
  return { id, lockToken, outcome: "snooze", delayMs: UNREACHABLE_SNOOZE_MS, errorCode: "QUEUE.UNREACHABLE", error };
}

function isAway(error: (AddResult & { ok: false })["error"]): boolean {
  return isCodedError(error) && (error.code === "QUEUE.UNREACHABLE" || error.code === "QUEUE.TIMEOUT");
}
