import { CodedError } from "@toolctrl/foundation/errors";

interface RunningJob {
  readonly id: string;
  readonly controller: AbortController;
  heldUntilMs: number;
}

/** The handlers that run in one worker now, and how long each still holds its job. */
export interface RunningJobs {
  readonly size: number;
  start(id: string): { readonly signal: AbortSignal; end(): void };
  /** The server extended the hold on these jobs. */
  renewed(ids: readonly string[]): void;
  /** These jobs belong to somebody else now, or to nobody. */
  lost(ids: readonly string[]): void;
  /** Aborts the handlers whose hold has run out unrenewed: a blocked event loop, or a server that is away. */
  abortExpired(): void;
  abortAll(reason: Error): void;
  /** Resolves when no handler runs. */
  idle(): Promise<void>;
}

export function createRunningJobs(lockMs: number): RunningJobs {
  const running = new Set<RunningJob>();
  const waiters: (() => void)[] = [];
  const abort = (job: RunningJob, why: string): void => {
    job.controller.abort(
      new CodedError("QUEUE.LOCK_LOST", `expected to hold job ${job.id} until its handler ends, got ${why}`, { facts: { jobId: job.id } }),
    );
  };
  const abortIds = (ids: readonly string[], why: string): void => {
    for (const job of running) if (ids.includes(job.id)) abort(job, why);
  };
  return {
    get size() {
      return running.size;
    },
    start(id) {
      // Started again while it still runs here: the older delivery has lost the job.
      abortIds([id], "a new delivery of it");
      const job: RunningJob = { id, controller: new AbortController(), heldUntilMs: performance.now() + lockMs };
      running.add(job);
      const end = (): void => {
        if (running.delete(job) && running.size === 0) for (const waiter of waiters.splice(0)) waiter();
      };
      return { signal: job.controller.signal, end };
    },
    renewed(ids) {
      for (const job of running) if (ids.includes(job.id) && !job.controller.signal.aborted) job.heldUntilMs = performance.now() + lockMs;
    },
    lost: (ids) => abortIds(ids, "a refused renewal"),
    abortExpired() {
      const now = performance.now();
      for (const job of running) if (job.heldUntilMs < now) abort(job, "no renewal in time");
    },
    abortAll(reason) {
      for (const job of running) job.controller.abort(reason);
    },
    idle: () => (running.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
}
