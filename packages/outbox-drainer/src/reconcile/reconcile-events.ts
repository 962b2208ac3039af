import type { Database } from "@toolctrl/db/client";
import type { RouteRule, Router } from "@toolctrl/event-router/router";
import type { QueueBackend } from "@toolctrl/queue/port";
import { requeueEvents } from "../actions/requeue-events.ts";
import { START_OF_TIME, type Cursor } from "../sql/purge-done-events.ts";
import { findLost } from "./find-lost.ts";
import { listUnfinished, type UnfinishedEvent } from "./sql/list-unfinished.ts";

export interface ReconcileDeps {
  readonly pool: Database["pool"];
  readonly router: Router;
  readonly routes: readonly RouteRule[];
  readonly backend: Pick<QueueBackend, "findLive">;
}

export interface ReconcileOptions {
  /** Adds the jobs of lost events again; without it they are only found. */
  readonly apply: boolean;
  /** Only events handed off since then. */
  readonly since?: Date | null;
  /** Only events handed off so long ago, ms: a job that was added a moment ago may not be seen yet. */
  readonly olderThanMs: number;
  readonly actor: string;
  readonly reason?: string | null;
  /** Told after each page. */
  readonly onPage?: (looked: number, lost: number) => void;
  /** Ends it after the page that runs. */
  readonly signal?: AbortSignal;
}

export interface LostEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly eventType: string;
  readonly handedOffAt: Date;
  /** The consumers that never finished it. */
  readonly missing: readonly string[];
  /** Whether it was sent out again; false in a look, or when it had left DONE by then. */
  readonly requeued: boolean;
}

export interface ReconcileReport {
  /** DONE events looked at. */
  readonly looked: number;
  /** Of them, those whose jobs still wait or run. */
  readonly underWay: number;
  readonly lost: readonly LostEvent[];
  readonly interrupted: boolean;
}

export const RECONCILE_PAGE = 1000;

/**
 * Finds what `DONE` promised and nobody will do: events that were handed off, whose consumers have left no receipt, and that no job of the
 * queue stands for any more, because its server was flushed, failed over, or lost its last second. With `apply` they are requeued: the
 * new generation makes a new job, and the consumers that have a receipt stay suppressed.
 * @throws CodedError `QUEUE.*` when the queue cannot be asked
 */
export async function reconcileEvents(deps: ReconcileDeps, options: ReconcileOptions): Promise<ReconcileReport> {
  const { olderThanMs, since = null } = options;
  const lost: LostEvent[] = [];
  let after: Cursor = START_OF_TIME;
  let looked = 0;
  let underWay = 0;
  while (options.signal?.aborted !== true) {
    const page = await listUnfinished(deps.pool, deps.routes, { after, limit: RECONCILE_PAGE, olderThanMs, since });
    looked += page.looked;
    const found = await reconcilePage(deps, page.events, options);
    underWay += page.events.length - found.length;
    lost.push(...found);
    options.onPage?.(looked, lost.length);
    if (page.looked < RECONCILE_PAGE || page.next === null) return { looked, underWay, lost, interrupted: false };
    after = page.next;
  }
  return { looked, underWay, lost, interrupted: true };
}

/** Of some unfinished events, those that are lost; with `apply`, requeued in one transaction with its audit row. */
export async function reconcilePage(
  deps: ReconcileDeps,
  unfinished: readonly UnfinishedEvent[],
  options: Pick<ReconcileOptions, "apply" | "actor" | "reason">,
): Promise<LostEvent[]> {
  const lost = await findLost({ ...deps, db: deps.pool }, unfinished);
  const requeued = options.apply && lost.length > 0 ? await requeueLost(deps, lost, options) : new Set<string>();
  return lost.map(({ id, tenantId, eventType, processedAt, missing }) => {
    return { id, tenantId, eventType, handedOffAt: processedAt, missing, requeued: requeued.has(id) };
  });
}

/** Time over which a bulk of lost events comes back, ms an event: a flushed queue must not be followed by a flood. */
const JITTER_MS_PER_EVENT = 5;

async function requeueLost(
  deps: ReconcileDeps,
  lost: readonly UnfinishedEvent[],
  { actor, reason }: Pick<ReconcileOptions, "actor" | "reason">,
): Promise<Set<string>> {
  const { events } = await requeueEvents(deps, {
    ids: lost.map(({ id }) => id),
    actor,
    reason: reason ?? "handed off, no receipt, and no live job",
    jitterMs: (lost.length - 1) * JITTER_MS_PER_EVENT,
    params: { reconcile: true },
  });
  return new Set(events.flatMap((event) => (event.outcome === "requeued" ? [event.id] : [])));
}
