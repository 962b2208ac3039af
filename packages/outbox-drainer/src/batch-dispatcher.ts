import { randomUUID } from "node:crypto";
import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Logger } from "@toolctrl/runtime/logger";
import type { ClaimedEvent } from "./claimed-event.ts";
import { handOff, type HandOffDeps } from "./hand-off.ts";
import type { Attempts } from "./attempt/attempts.ts";
import { splitIntoLanes, splitIntoLines, LANES } from "./lanes.ts";
import { settleExhausted } from "./lines/settle-exhausted.ts";
import type { DispatcherSettings } from "./settings.ts";
import { settleWithRetry } from "./settle-with-retry.ts";
import { claimDueEvents, type Claim } from "./sql/claim-due-events.ts";
import { readMode } from "./sql/read-mode.ts";
import { reclaimExpiredEvent } from "./sql/reclaim-expired-event.ts";
import { releaseClaims } from "./sql/release-claims.ts";
import type { Settlement } from "./sql/settle-events.ts";
import { createSettlementReport, emptyTally, type Tally, type TickReport } from "./settlement-report.ts";
import { createTicker } from "./ticker.ts";

export type { TickReport } from "./settlement-report.ts";

export interface BatchDispatcherDeps extends Omit<HandOffDeps, "maxRetries" | "backend"> {
  readonly pool: Queryable;
  readonly backend: Pick<QueueBackend, "addAll" | "ping">;
  /** Runs the events of `database` routes; without it such an event is FAILED as unroutable. Whoever made it closes it. */
  readonly attempts?: Pick<Attempts, "takes" | "run">;
  readonly settings: DispatcherSettings;
  readonly log: Logger;
}

export interface BatchDispatcher {
  /** Claims and hands off until no due event is left, or the queue's server is away. */
  tick(): Promise<TickReport>;
  /** Ticks at the interval, and at once after `wake`, until closed. */
  start(): void;
  /** A hint that something was published; may be given at any time, any number of times. */
  wake(): void;
  /** Claims nothing more, and begins no attempt; resolves when what was claimed is settled or given back, or rejects when `graceMs` are over. */
  close(graceMs: number): Promise<void>;
  /** Prolongs the claims of its attempts no longer. */
  letGo(): void;
}

/** Batches claimed ahead of the one being handed off; more would only lengthen the time between claim and hand-off. */
const MAX_BATCHES_IN_FLIGHT = 2;
/** Lines of one lane whose attempts run at once: so many connections a lane takes, and so many that wait for a lock do not stop it. */
const LINES_AT_ONCE = 3;

/** The default drainer: claims a fair batch, hands it off in two overlapping lanes, settles in bulk. */
export function createBatchDispatcher(deps: BatchDispatcherDeps): BatchDispatcher {
  const { pool, settings, metrics, log } = deps;
  const handOffDeps: HandOffDeps = { ...deps, maxRetries: settings.maxRetries };
  const report = createSettlementReport({ metrics, log });
  const lanes: Promise<void>[] = Array.from({ length: LANES }, () => Promise.resolve());
  let afterTenant = "";
  let keyed = false;
  let queueAway = false;
  let closing = false;
  const lettingGo = new AbortController();

  async function tick(): Promise<TickReport> {
    const tally = emptyTally();
    while (!closing && (await pass(tally)));
    return tally;
  }

  /**
   * What has expired, then what is due, for an interval: under a load that never ends expired claims have their turn all the same.
   * @returns whether there is more to be done at once
   */
  async function pass(tally: Tally): Promise<boolean> {
    if (queueAway && !(await queueIsBack())) return false;
    const startedAt = performance.now();
    const mode = await readMode(pool);
    if (mode.mode !== "batch" || mode.desired !== "batch") return false;
    // Once there, the column stays.
    keyed ||= (await recordKeyReady(pool)).column;
    await reclaimExpired(mode.epoch, tally);
    const more = await drainDue(mode.epoch, tally);
    metrics.observe("outbox_tick_seconds", (performance.now() - startedAt) / 1000);
    return more && !queueAway;
  }

  async function queueIsBack(): Promise<boolean> {
    try {
      await deps.backend.ping();
      queueAway = false;
      log.info("the queue answers again");
    } catch (error) {
      log.warn({ error: describeError(error) }, "the queue is away, claiming nothing");
    }
    return !queueAway;
  }

  /** One at a time, and settled before the next: the lease that is lost here is lost by this event alone. */
  async function reclaimExpired(epoch: bigint, tally: Tally): Promise<void> {
    for (let taken = 0; taken < settings.batchSize && !closing && !queueAway; taken += 1) {
      const { crashBudget, leaseMs } = settings;
      const reclaim = await reclaimExpiredEvent(pool, { epoch, crashBudget, leaseMs, lockToken: randomUUID(), keyed });
      if (reclaim.kind === "none") return;
      if (reclaim.kind === "exhausted") {
        await settleAndReport([settleExhausted(reclaim.event, deps.router)], tally);
        continue;
      }
      log.warn({ eventId: reclaim.event.id, attempts: reclaim.event.attempts }, "lease expired, event claimed again");
      metrics.add("outbox_claims_total", 1);
      metrics.add("outbox_reclaims_total", 1);
      tally.claimed += 1;
      await drainLane([reclaim.event], tally);
    }
  }

  /** @returns whether the interval was over before everything was handed off */
  async function drainDue(epoch: bigint, tally: Tally): Promise<boolean> {
    const until = performance.now() + settings.intervalMs;
    const inFlight: Promise<void>[] = [];
    const failures: unknown[] = [];
    let more = true;
    for (let inTime = true; more && inTime && !closing && !queueAway && failures.length === 0; inTime = performance.now() < until) {
      const claim = await claimNext(epoch);
      tally.claimed += claim.events.length;
      more = claim.more;
      inFlight.push(addJobs(claim.events, tally).catch((error: unknown) => void failures.push(error)));
      if (inFlight.length >= MAX_BATCHES_IN_FLIGHT) await inFlight.shift();
    }
    await Promise.all(inFlight);
    if (failures.length > 0) throw failures[0];
    return more;
  }

  async function claimNext(epoch: bigint): Promise<Claim> {
    const { batchSize: limit, leaseMs } = settings;
    const claim = await claimDueEvents(pool, { epoch, limit, leaseMs, lockToken: randomUUID(), afterTenant, keyed });
    afterTenant = claim.lastTenant;
    metrics.add("outbox_claims_total", claim.events.length);
    return claim;
  }

  /** Puts a batch behind what its lanes are doing, so that a line's events are handed off in the order they were claimed. */
  async function addJobs(events: readonly ClaimedEvent[], tally: Tally): Promise<void> {
    const parts = splitIntoLanes(events).map((part, index) => {
      const run = (lanes[index] ?? Promise.resolve()).then(() => drainLane(part, tally));
      // The chain goes on after a failure; the failure itself is the caller's.
      lanes[index] = run.catch(() => undefined);
      return run;
    });
    await Promise.all(parts);
  }

  /** Hand-offs in bulk; beside them, and a few at a time, the lines with events that need an attempt: a stuck one stops its line alone. */
  async function drainLane(events: readonly ClaimedEvent[], tally: Tally): Promise<void> {
    const { attempts } = deps;
    if (attempts === undefined) return handOffAndSettle(events, tally);
    const { lines, bulk } = splitIntoLines(events, attempts.takes);
    const next = async (): Promise<void> => {
      for (let line = lines.shift(); line !== undefined; line = lines.shift()) await runLine(attempts, line, tally);
    };
    await Promise.all([handOffAndSettle(bulk, tally), ...Array.from({ length: LINES_AT_ONCE }, next)]);
  }

  async function runLine(attempts: Pick<Attempts, "run">, line: readonly ClaimedEvent[], tally: Tally): Promise<void> {
    for (const [index, event] of line.entries()) {
      // A dispatcher that was switched off must come to its end, and any of those that wait could hang.
      if (closing) return giveBack(line.slice(index));
      await runAttempt(attempts, event, tally);
    }
  }

  async function giveBack(claims: readonly ClaimedEvent[]): Promise<void> {
    try {
      await releaseClaims(pool, claims);
      log.info({ events: claims.length }, "claims whose attempts had not begun are given back");
    } catch (error) {
      log.warn({ events: claims.length, error: describeError(error) }, "claims could not be given back: they are left to their leases");
    }
  }

  async function runAttempt(attempts: Pick<Attempts, "run">, event: ClaimedEvent, tally: Tally): Promise<void> {
    // It may have waited in its lane for a while.
    const { settlement, fate } = await attempts.run(event, { waited: true, prolongUntil: lettingGo.signal });
    if (fate !== "unsettled") report([settlement], new Set(fate === "lost" ? [event.id] : []), tally);
  }

  async function handOffAndSettle(events: readonly ClaimedEvent[], tally: Tally): Promise<void> {
    if (events.length === 0) return;
    const { settlements, unreachable } = await handOff(handOffDeps, events);
    if (unreachable && !queueAway) {
      queueAway = true;
      log.warn("the queue is away; claiming stops until it answers");
    }
    await settleAndReport(settlements, tally);
  }

  async function settleAndReport(settlements: readonly Settlement[], tally: Tally): Promise<void> {
    const { lost, repeated } = await settleWithRetry(pool, settlements, log);
    report(settlements, new Set(repeated ? [] : lost), tally);
  }

  const ticker = createTicker({
    intervalMs: settings.intervalMs,
    tick,
    onWake: (source) => metrics.add("outbox_wakeups_total", 1, { source }),
    onError(error) {
      metrics.add("outbox_tick_errors_total", 1, { code: errorCodeOf(error) });
      log.error({ error: describeError(error) }, "tick failed");
    },
  });
  return {
    tick,
    start: ticker.start,
    wake: ticker.wake,
    async close(graceMs) {
      closing = true;
      await ticker.close(graceMs);
    },
    letGo: () => lettingGo.abort(),
  };
}
