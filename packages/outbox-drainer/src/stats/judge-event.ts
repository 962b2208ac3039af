import type { RouteRule } from "@toolctrl/event-router/router";
import { assertNever } from "@toolctrl/foundation/errors";
import type { Hold } from "../held/hold.ts";
import type { LineHead } from "../lines/find-head-before.ts";
import type { EventListing } from "./list-events.ts";
import type { Receipt } from "@toolctrl/db/receipts";
import type { EventJob } from "./jobs-of-event.ts";

/** Where an event is, why, and what a person can do about it (null: nothing is needed). */
export interface Verdict {
  readonly state:
    | "waiting"
    | "blocked"
    | "held"
    | "retrying"
    | "claimed"
    | "failed"
    | "cancelled"
    | "handed-off"
    | "lost"
    | "dead"
    | "no-consumer"
    | "no-route"
    | "finished";
  readonly why: string;
  readonly next: string | null;
}

export interface VerdictFacts {
  readonly event: Omit<EventListing, "payload">;
  readonly now: Date;
  readonly route: RouteRule | null;
  readonly receipts: readonly Receipt[];
  readonly jobs: readonly EventJob[];
  /** Live processes that serve the route's queue, and that drain. */
  readonly servers: number;
  readonly drainers: number;
  /** While pull workers run: what the event waits behind. */
  readonly before?: LineHead | null;
  /** While pull workers run: what holds its route. */
  readonly hold?: Hold | null;
}

/** Says in one sentence where an event is and why. */
export function judgeEvent(facts: VerdictFacts): Verdict {
  const { event } = facts;
  switch (event.status) {
    case "PENDING":
      return judgePending(facts);
    case "PROCESSING":
      return judgeProcessing(facts);
    case "FAILED":
      return {
        state: "failed",
        why: `it failed for good with ${event.lastErrorCode ?? "no code"}: ${event.lastError ?? "no message"}`,
        next: `mend the cause, then \`toolctrl-cli outbox requeue ${event.id}\``,
      };
    case "CANCELLED":
      return {
        state: "cancelled",
        why: "an operator cancelled it",
        next: `\`toolctrl-cli outbox requeue ${event.id}\` sends it after all`,
      };
    case "DONE":
      return judgeDone(facts);
    default:
      return assertNever(event.status);
  }
}

function judgePending({ event, now, route, drainers, before, hold }: VerdictFacts): Verdict {
  if (before !== null && before !== undefined) return judgeBlocked(before);
  if (hold !== null && hold !== undefined) return judgeHeld(event, route, hold);
  const noDrainer = drainers === 0 ? "start a worker-general with OUTBOX_DISPATCHER_ENABLED=true: no live process drains" : null;
  if (event.scheduledAt > now) {
    const why =
      event.lastError === null
        ? "it is scheduled for later"
        : `retry ${event.retries} waits after ${event.lastErrorCode ?? "an error"}: ${event.lastError}`;
    return { state: "retrying", why: `${why} (due ${event.scheduledAt.toISOString()})`, next: noDrainer };
  }
  return { state: "waiting", why: `it has been due since ${event.scheduledAt.toISOString()} and waits for a drainer`, next: noDrainer };
}

const HEAD_WAITS: Record<LineHead["cause"], string> = {
  parked: "failed for good and keeps its place",
  held: "is held",
  backoff: "waits for its next try",
  "in-flight": "is claimed",
  due: "is due",
};

function judgeBlocked({ id, recordKey, cause }: LineHead): Verdict {
  return {
    state: "blocked",
    why: `it waits behind the older event ${id} of ${recordKey}, which ${HEAD_WAITS[cause]}`,
    next: nextOf(id, cause),
  };
}

function nextOf(headId: string, cause: LineHead["cause"]): string | null {
  if (cause === "parked") return `\`toolctrl-cli outbox requeue ${headId}\`, or \`toolctrl-cli outbox skip ${headId}\``;
  return cause === "held" ? `\`toolctrl-cli outbox trace ${headId}\` says what holds it` : null;
}

function judgeHeld({ id }: VerdictFacts["event"], route: RouteRule | null, { consumer, reason, since }: Hold): Verdict {
  return {
    state: "held",
    why: `pull workers hold its route ${route?.prefix ?? "?"}: ${consumer} is out of scope since ${since}, ${reason}`,
    next: `deploy ${consumer} in scope, or hand it off through the dispatcher (OUTBOX_PULL_WORKER=false); both release it. Or \`toolctrl-cli outbox cancel ${id}\``,
  };
}

function judgeProcessing({ event, now }: VerdictFacts): Verdict {
  const until = event.lockedUntil?.toISOString() ?? "?";
  if (event.lockedUntil !== null && event.lockedUntil <= now) {
    return { state: "claimed", why: `its claim ran out at ${until}; the next drainer tick takes it again`, next: null };
  }
  return { state: "claimed", why: `a drainer has claimed it until ${until}`, next: null };
}

/** Another program's route, a product's or another version's, had it handed off. */
const NO_ROUTE: Verdict = {
  state: "no-route",
  why: "handed off by a worker that has a route for its type; this version has none, so what it owes is unknown",
  next: "ask with the version, or the product, of the worker that handed it off; its receipts say what has finished",
};

function judgeDone(facts: VerdictFacts): Verdict {
  const { event, route, receipts, servers } = facts;
  if (route === null) return NO_ROUTE;
  if (route.target === "database")
    return { state: "finished", why: "its after-save effects were committed together with DONE", next: null };
  const open = route.consumers.filter((consumer) => !isFinished(event, consumer, receipts));
  if (open.length === 0) return { state: "finished", why: "handed off, and every consumer of its route has its receipt", next: null };
  // One of an earlier generation says nothing of the present job.
  const dead = receipts.find(
    ({ consumer, outcome, generation }) => outcome === "dead" && generation === event.generation && open.includes(consumer),
  );
  if (dead !== undefined && !hasLiveJob(facts)) {
    const next = `mend the cause, then \`toolctrl-cli outbox requeue ${event.id}\``;
    return { state: "dead", why: `${dead.consumer} gave up on it: ${dead.detail ?? "no message"}`, next };
  }
  if (servers === 0)
    return {
      state: "no-consumer",
      why: `handed off, but no live process serves its queue; ${open.join(", ")} has not run`,
      next: "start the worker that serves the queue",
    };
  if (hasLiveJob(facts))
    return { state: "handed-off", why: `handed off; its job waits or runs, ${open.join(", ")} has no receipt yet`, next: null };
  if (facts.jobs.some((job) => job.error !== null))
    return {
      state: "handed-off",
      why: "handed off; the queue could not be asked about its job",
      next: "check the queue's server, and that QUEUE_BACKEND, REDIS_URL and QUEUE_PREFIX are those of the workers",
    };
  return {
    state: "lost",
    why: `handed off, but its job is gone or failed and ${open.join(", ")} has no receipt`,
    next: `worker-general sends it out again by itself; at once: \`toolctrl-cli outbox requeue ${event.id}\`, consumers with a receipt stay suppressed`,
  };
}

function isFinished(event: VerdictFacts["event"], consumer: string, receipts: readonly Receipt[]): boolean {
  const replayed = event.replayConsumer === consumer;
  return receipts.some(
    (receipt) => receipt.consumer === consumer && receipt.outcome === "done" && (!replayed || receipt.effectEpoch === event.effectEpoch),
  );
}

function hasLiveJob({ event, jobs }: VerdictFacts): boolean {
  return jobs.some(
    ({ view, generation }) => generation === event.generation && view !== null && ["waiting", "active", "delayed"].includes(view.state),
  );
}
