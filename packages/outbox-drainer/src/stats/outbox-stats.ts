import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule, Router } from "@toolctrl/event-router/router";
import type { ConsumerName } from "@toolctrl/foundation/consumers";
import { describeError } from "@toolctrl/foundation/errors";
import { QUEUE_NAMES, type QueueName } from "@toolctrl/foundation/queues";
import type { QueueBackend, QueueCounts } from "@toolctrl/queue/port";
import { OUTBOX_STATUSES, type OutboxStatus } from "../actions/event-filter.ts";
import { NOTHING_HELD, type HeldBy } from "../held/hold.ts";
import type { BlockCause } from "../lines/block-cause.ts";
import { countBlockedLines } from "../lines/count-blocked-lines.ts";
import { readModeState } from "../switch/move-mode.ts";
import { countOpenClaims } from "../switch/sql/count-open-claims.ts";
import { countDeadJobs, type DeadJobs } from "./count-dead-jobs.ts";
import { countEvents, type EventCount } from "./count-events.ts";
import { countHeldEvents, type HeldEvents } from "./count-held-events.ts";
import { readHeldRoutes, type HeldRoute } from "./held-routes.ts";
import { listLiveProcesses, type LiveProcess } from "./list-live-processes.ts";
import { missingConsumers } from "./missing-consumers.ts";
import { readBacklog, type Backlog } from "./read-backlog.ts";

/** A queue and who serves it. `counts` is null, with the reason, when the queue's server did not answer. */
export interface QueueStats {
  readonly queue: QueueName;
  readonly counts: QueueCounts | null;
  readonly error: string | null;
  /** Live processes that consume it; 0 is a queue whose jobs wait for a consumer that nobody runs. */
  readonly consumers: number;
  /** The consumers that have to work on it, and no live process runs. */
  readonly missing: readonly ConsumerName[];
}

export interface OutboxStats {
  readonly mode: {
    readonly mode: string;
    readonly desired: string;
    readonly epoch: string;
    /** Why pull workers are off, each reason with the processes that give it; empty when nothing speaks against them. */
    readonly whyNotPull: readonly string[];
    /** Claims whose lease is not over: what a change of the drainer waits for. */
    readonly openClaims: number;
  };
  /** Lines in which events wait for an older one, by cause; 1000 of each at most. */
  readonly blockedLines: Readonly<Record<BlockCause, number>>;
  readonly byStatus: Readonly<Record<OutboxStatus, number>>;
  /** `route` is the routing rule's prefix, null for types that no rule matches. */
  readonly byRoute: ReadonlyArray<{
    readonly route: string | null;
    readonly target: string | null;
    readonly counts: Readonly<Record<OutboxStatus, number>>;
  }>;
  readonly backlog: Backlog;
  readonly queues: readonly QueueStats[];
  readonly dead: readonly DeadJobs[];
  readonly held: readonly HeldEvents[];
  /** The routes that pull workers hold; unlike `held`, whose events were handed off and never finished. */
  readonly heldRoutes: readonly HeldRoute[];
  /** Events of other routes put off behind held ones of their records. */
  readonly heldBehind: number;
  readonly processes: readonly LiveProcess[];
}

/** Everything an operator asks first: what waits, where it goes, who serves it, what died, what was handed off and never finished. */
export async function outboxStats(deps: {
  db: Queryable;
  router: Router;
  backend: Pick<QueueBackend, "counts">;
  /** Which routes are held; none by default. */
  heldBy?: HeldBy;
}): Promise<OutboxStats> {
  const { db, router, backend, heldBy = NOTHING_HELD } = deps;
  const counts = await countEvents(db);
  const { mode, decision } = await readModeState(db);
  const { claims } = await countOpenClaims(db);
  const processes = await listLiveProcesses(db);
  const { routes, behind } = await readHeldRoutes({ db, router, heldBy });
  return {
    mode: { mode: mode.mode, desired: mode.desired, epoch: String(mode.epoch), whyNotPull: decision.reasons, openClaims: claims },
    blockedLines: await countBlockedLines(db),
    byStatus: sumByStatus(counts),
    byRoute: groupByRoute(counts, router),
    backlog: await readBacklog(db),
    queues: await Promise.all(QUEUE_NAMES.map((queue) => queueStats(queue, backend, processes))),
    dead: await countDeadJobs(db),
    held: await countHeldEvents(db, expectedReceipts(counts, router)),
    heldRoutes: routes,
    heldBehind: behind,
    processes,
  };
}

async function queueStats(queue: QueueName, backend: Pick<QueueBackend, "counts">, processes: readonly LiveProcess[]): Promise<QueueStats> {
  const who = {
    consumers: processes.filter((entry) => entry.queues.includes(queue)).length,
    missing: missingConsumers(queue, processes),
  };
  try {
    return { queue, counts: await backend.counts(queue), error: null, ...who };
  } catch (error) {
    // The tables' half of the answer is worth most when the queue's server is away.
    return { queue, counts: null, error: describeError(error, 300), ...who };
  }
}

function sumByStatus(counts: readonly EventCount[]): Record<OutboxStatus, number> {
  const sums = Object.fromEntries(OUTBOX_STATUSES.map((status) => [status, 0])) as Record<OutboxStatus, number>;
  for (const { status, events } of counts) sums[status] += events;
  return sums;
}

function groupByRoute(counts: readonly EventCount[], router: Router): OutboxStats["byRoute"] {
  const groups = new Map<string | null, { rule: RouteRule | null; counts: EventCount[] }>();
  for (const count of counts) {
    const rule = router(count.eventType);
    const key = rule?.prefix ?? null;
    const group = groups.get(key) ?? { rule, counts: [] };
    group.counts.push(count);
    groups.set(key, group);
  }
  return [...groups]
    .map(([route, group]) => ({ route, target: targetOf(group.rule), counts: sumByStatus(group.counts) }))
    .sort((a, b) => ((a.route ?? "~") < (b.route ?? "~") ? -1 : 1));
}

function targetOf(rule: RouteRule | null): string | null {
  if (rule === null) return null;
  return rule.target === "queue" ? rule.queue : "database";
}

function expectedReceipts(counts: readonly EventCount[], router: Router): Array<{ eventType: string; consumer: string }> {
  const types = new Set(counts.filter((count) => count.status === "DONE").map((count) => count.eventType));
  return [...types].flatMap((eventType) => (router(eventType)?.consumers ?? []).map((consumer) => ({ eventType, consumer })));
}
