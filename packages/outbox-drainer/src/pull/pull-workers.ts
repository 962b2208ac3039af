import type { AttemptSettings, Attempts, AttemptsDeps } from "../attempt/attempts.ts";
import type { Settled } from "../attempt/settled.ts";

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
}

/** Independent loops, each: find an eligible event, claim it, run its attempt. No dispatcher above them, no barrier between them. */
export interface PullWorkers {
  /** Starts the loops; while the mode row does not say `pull` they claim nothing. */
  start(): void;
  /** A hint that something was published; may be given at any time, any number of times. */
  wake(): void;
  /** Claims nothing more; resolves when the running attempts have ended, or rejects when `graceMs` are over. Releases no claim. */
  close(graceMs: number): Promise<void>;
  /** One turn of one loop, for tests: what became of the event it claimed, or null when there was none to claim. */
  runOnce(): Promise<Settled | null>;
}

export function createPullWorkers(_deps: PullWorkersDeps): PullWorkers {
  throw new TypeError("expected an implementation, got the contract");
}
