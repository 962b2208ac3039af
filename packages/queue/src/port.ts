import type { QueueName } from "@toolctrl/foundation/queues";

/** One job to add. `id` comes from `jobIdFor`. `data` is strict JSON. */
export interface NewJob {
  readonly queue: QueueName;
  readonly id: string;
  /** The job's name: the event type, or the task. */
  readonly name: string;
  readonly data: unknown;
  /** ms from now until it may run. */
  readonly delayMs?: number;
}

/** What became of one entry of an `addAll`, in the order of the entries. `error` is a CodedError `QUEUE.*`. */
export type AddResult = { readonly ok: true } | { readonly ok: false; readonly error: Error };

/** A job as its handler sees it. */
export interface DeliveredJob {
  readonly id: string;
  readonly queue: QueueName;
  readonly name: string;
  readonly data: unknown;
  /** Attempts that ended in an error before this one, and how many there may be in all. */
  readonly failures: number;
  readonly maxAttempts: number;
  /** How often the job was started, this start included (stalls and delays count here, not in `failures`). */
  readonly starts: number;
  /** Aborts when the worker is told to stop and its grace period is over, or the job's lock is lost. */
  readonly signal: AbortSignal;
}

/**
 * How a delivery ended.
 * - `done`: finished. `retry`: failed, uses an attempt (after `afterMs`, or by the queue's backoff).
 * - `snooze`: not before `untilMs` (ms since the epoch), uses no attempt. `cancel`: failed for good, dead at once.
 */
export type JobOutcome =
  | { readonly kind: "done"; readonly result?: unknown }
  | { readonly kind: "retry"; readonly error: Error; readonly afterMs?: number }
  | { readonly kind: "snooze"; readonly untilMs: number }
  | { readonly kind: "cancel"; readonly error: Error };

export type JobHandler = (job: DeliveredJob) => Promise<JobOutcome>;

export interface WorkerOptions {
  readonly concurrency: number;
  /** Told once for each job that will not run again by itself: attempts exhausted, cancelled, or stalled too often. */
  readonly onDead?: (job: { id: string; queue: QueueName; name: string; data: unknown }, error: Error) => Promise<void>;
  /** Told of each job of the queue that this worker took from another one that had died or lost it; one of all workers is told. */
  readonly onStalled?: (job: { id: string; queue: QueueName }) => void;
}

export interface QueueWorker {
  readonly queue: QueueName;
  /** Takes no new job; waits for running ones up to `graceMs`, then forces; always resolves. Idempotent. */
  close(graceMs: number): Promise<void>;
}

export type JobState = "waiting" | "active" | "delayed" | "completed" | "failed" | "absent";

export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly completed: number;
  readonly failed: number;
}

export interface JobView {
  readonly id: string;
  readonly state: JobState;
  /** Attempts that ended in an error. */
  readonly failures: number;
  readonly starts: number;
  readonly failedReason: string | null;
  readonly addedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** What the queue's server does with keys when its memory is full; `null` where it keeps no keys in memory. */
export type EvictionPolicy =
  | { readonly kind: "known"; readonly policy: string | null }
  | { readonly kind: "unknown"; readonly why: string };

/** Whether the queue's server writes each change to an append-only file; `null` where the queue lies in PostgreSQL, which has its own log. */
export type Persistence =
  | { readonly kind: "known"; readonly appendOnly: boolean | null }
  | { readonly kind: "unknown"; readonly why: string };

/** Which server keeps the jobs, and how full its memory is; `null` where the queue lies in PostgreSQL. `maxBytes` is what it may take, or has. */
export type ServerInfo =
  | { readonly kind: "known"; readonly redis: { readonly version: string; readonly usedBytes: number; readonly maxBytes: number } | null }
  | { readonly kind: "unknown"; readonly why: string };

/** BullMQ on Redis or on Postgres, behind one port. Every call settles within a bound, whatever the server does. */
export interface QueueBackend {
  readonly kind: "redis" | "postgres";
  readonly prefix: string;
  /** Adds all jobs, in bulk per queue; an entry that cannot be added fails alone. Never throws. */
  addAll(jobs: readonly NewJob[]): Promise<AddResult[]>;
  work(queue: QueueName, handler: JobHandler, options: WorkerOptions): QueueWorker;
  /**
   * Makes a repeating job exist once, however many processes ask for it. `everyMs` or a cron `pattern` (UTC).
   * Resolves while the server is away too; the schedule is then made when it is there, and made again if the server loses it.
   */
  schedule(queue: QueueName, job: { schedulerId: string; name: string; data: unknown; pattern?: string; everyMs?: number }): Promise<void>;
  counts(queue: QueueName): Promise<QueueCounts>;
  find(queue: QueueName, jobId: string): Promise<JobView | null>;
  /** Those of these jobs, at most 1000, that may still run: they wait, are delayed, or run now. As cheap beside a million that wait as beside none. */
  findLive(queue: QueueName, jobIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** A bounded write-capable round trip on its own connection, for readiness: rejects when the server is away or read-only. */
  ping(): Promise<void>;
  /** This machine's clock minus the server's, ms. */
  clockSkewMs(): Promise<number>;
  /** Any policy but `noeviction` can drop jobs and their locks. Does not reject: an outage and a forbidden question are "unknown". */
  evictionPolicy(): Promise<EvictionPolicy>;
  /** Without an append-only file a restart of the server loses every job since its last snapshot. Does not reject, like `evictionPolicy`. */
  persistence(): Promise<Persistence>;
  /** For a person who asks how the server is. Does not reject, like `evictionPolicy`. */
  serverInfo(): Promise<ServerInfo>;
  /** Deletes every job of a queue; for tests. */
  obliterate(queue: QueueName): Promise<void>;
  close(graceMs: number): Promise<void>;
}
