import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { createAttempts, type Attempts, type AttemptsDeps, type AttemptSettings } from "../attempt/attempts.ts";
import type { Settled } from "../attempt/settled.ts";
import type { ClaimedEvent } from "../claimed-event.ts";
import { createEventHolder } from "../held/event-holder.ts";
import { createHoldOf, NOTHING_HELD, type HeldBy } from "../held/hold.ts";
import { createSettlementReport, emptyTally } from "../settlement-report.ts";
import { createExpiredReleaser } from "./expired-releaser.ts";
import { createHeadClaimer } from "./head-claimer.ts";
import { createIdleLine } from "./idle-line.ts";

/** How pull workers work; all times in ms. */
export interface PullSettings extends AttemptSettings {
  /** Independent loops (`OUTBOX_PULL_PARALLELISM`). */
  readonly parallelism: number;
  /** Polling cadence when nothing wakes an idle loop. */
  readonly intervalMs: number;
  /** Leases an event may lose while it is claimed alone. */
  readonly crashBudget: number;
}

export interface PullWorkersDeps extends AttemptsDeps {
  readonly settings: PullSettings;
  /** The process's attempts, where both drainers share them; without it the workers make and close their own. */
  readonly attempts?: Attempts;
  /** Which routes are held; none by default. */
  readonly heldBy?: HeldBy;
}

/** Independent loops, each: find an eligible event, claim it, run its attempt. No dispatcher above them, no barrier between them. */
export interface PullWorkers {
  /** Starts the loops; while the mode row does not say `pull` they claim nothing. */
  start(): void;
  /** A hint that something was published; may be given at any time, any number of times. */
  wake(): void;
  /** Claims nothing more; resolves when the running attempts have ended, or rejects when `graceMs` are over. Releases no claim. */
  close(graceMs: number): Promise<void>;
  /** Prolongs the claims of its attempts no longer. */
  letGo(): void;
  /** One turn of one loop, for tests: what became of the event it claimed, or null when there was none to claim. */
  runOnce(): Promise<Settled | null>;
}

export function createPullWorkers(deps: PullWorkersDeps): PullWorkers {
  const { database, settings, metrics, log } = deps;
  const { pool } = database;
  const attempts = deps.attempts ?? createAttempts(deps);
  const holder = createEventHolder({ pool, holdOf: createHoldOf(deps.router, deps.heldBy ?? NOTHING_HELD), log });
  const claimer = createHeadClaimer({ pool, leaseMs: settings.leaseMs, clearWindow: holder.clearWindow, metrics, log });
  const idle = createIdleLine(settings.intervalMs);
  const report = createSettlementReport({ metrics, log });
  const expired = createExpiredReleaser({
    ...deps,
    pool,
    onDead: (settlement, lost) => reportOne({ settlement, fate: lost ? "lost" : "kept" }),
  });
  const loops: Promise<void>[] = [];
  let closing = false;
  const lettingGo = new AbortController();

  async function claim(release: (epoch: bigint) => Promise<void>): Promise<ClaimedEvent | null> {
    const epoch = await claimer.epoch();
    if (epoch === null) return null;
    await release(epoch);
    return claimer.claim();
  }

  async function attempt(event: ClaimedEvent): Promise<Settled> {
    const hold = holder.holdOf(event.eventType);
    const settled = hold === null ? await attempts.run(event, { prolongUntil: lettingGo.signal }) : await holder.hold(event, hold);
    reportOne(settled);
    return settled;
  }

  function reportOne({ settlement, fate }: Settled): void {
    if (fate !== "unsettled") report([settlement], new Set(fate === "lost" ? [settlement.id] : []), emptyTally());
  }

  async function loop(): Promise<void> {
    while (!closing) {
      const event = await claim(expired.releaseNowAndThen).catch(sayAndPause);
      if (event === null) {
        metrics.add("outbox_wakeups_total", 1, { source: await idle.pause() });
        continue;
      }
      // Where there was one there may be more: another loop looks while this one works.
      idle.wakeOne();
      await attempt(event);
    }
  }

  async function endAll(): Promise<void> {
    await Promise.all(loops);
    if (deps.attempts === undefined) await attempts.close();
  }

  function sayAndPause(error: unknown): null {
    metrics.add("outbox_tick_errors_total", 1, { code: errorCodeOf(error) });
    log.error({ error: describeError(error) }, "claiming failed");
    return null;
  }

  return {
    start() {
      while (loops.length < settings.parallelism && !closing) loops.push(loop());
    },
    wake: idle.wakeOne,
    async close(graceMs) {
      closing = true;
      idle.close();
      // An attempt that takes longer keeps its heartbeat.
      await withDeadline(endAll(), graceMs, () => new Error(`expected the running attempts to end within ${graceMs} ms, they did not`));
    },
    letGo: () => lettingGo.abort(),
    async runOnce() {
      const event = await claim(expired.release);
      return event === null ? null : attempt(event);
    },
  };
}
