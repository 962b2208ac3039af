/** How the batch dispatcher works; the defaults are those of docs/reference/env.md. All times in ms. */
export interface DispatcherSettings {
  /** Polling cadence when nothing wakes the dispatcher. */
  readonly intervalMs: number;
  /** Events claimed at most by one claim. */
  readonly batchSize: number;
  /** Failures an event may have before the next one is its last. */
  readonly maxRetries: number;
  /** Life of a claim. */
  readonly leaseMs: number;
  /** Leases an event may lose while it is claimed alone. */
  readonly crashBudget: number;
}
