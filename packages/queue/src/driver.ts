import type { QueueName } from "@toolctrl/foundation/queues";
import type { Job, JobsOptions, Processor } from "bullmq";
import type { EvictionPolicy, Persistence, ServerInfo } from "./port.ts";
import type { Exclusively } from "./schedule-job.ts";

export type BullJob = Job<unknown, unknown>;
export type BullProcessor = Processor<unknown, unknown>;

export interface BullEntry {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
}

export interface BullSchedule {
  readonly name: string;
  readonly pattern?: string;
  readonly tz?: string;
  readonly every?: number;
  /** Time of the next turn, ms since the epoch. */
  readonly next?: number | null;
  readonly template?: { readonly data?: unknown; readonly opts?: Pick<JobsOptions, "attempts" | "backoff"> };
}

/** The part of a BullMQ `Queue` that this package uses, the same for both of its backends. */
export interface BullQueue {
  add(name: string, data: unknown, opts: JobsOptions): Promise<unknown>;
  addBulk(jobs: BullEntry[]): Promise<unknown>;
  getJob(id: string): Promise<BullJob | undefined>;
  getJobState(id: string): Promise<string>;
  getJobCounts(...types: ("waiting" | "prioritized" | "active" | "delayed" | "completed" | "failed")[]): Promise<Record<string, number>>;
  getJobScheduler(id: string): Promise<BullSchedule | undefined>;
  upsertJobScheduler(
    id: string,
    repeat: { pattern?: string; tz?: string; every?: number },
    job: { name: string; data: unknown },
  ): Promise<unknown>;
  obliterate(options: { force: boolean }): Promise<void>;
}

/** The part of a BullMQ `Worker` that this package uses. */
export interface BullWorker {
  on(event: "failed", listener: (job: BullJob | undefined, error: Error) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "lockRenewalFailed", listener: (jobIds: string[]) => void): unknown;
  on(event: "stalled", listener: (jobId: string) => void): unknown;
  on(event: "locksRenewed", listener: (renewed: { count: number; jobIds: string[] }) => void): unknown;
  close(force?: boolean): Promise<void>;
}

export interface OpenWorker {
  readonly worker: BullWorker;
  /** Gives the connections up, whatever state they are in. A graceful `close` that hangs cannot be turned into a forced one. */
  force(): Promise<void>;
}

/** What differs between BullMQ on Redis and on Postgres. */
export interface QueueDriver {
  readonly kind: "redis" | "postgres";
  /** The producer's side of a queue, made once. */
  queue(name: QueueName): BullQueue;
  /** The state of a job as BullMQ names it, "unknown" when there is no such job. */
  jobState(name: QueueName, jobId: string): Promise<string>;
  /** Those of some jobs that may still run. */
  findLive(name: QueueName, jobIds: readonly string[]): Promise<Set<string>>;
  /** Whether the producer's connection is up now; says nothing about the next moment. */
  isUsable(): boolean;
  /** Waits at most `ms` for the producer's connection. @throws CodedError `QUEUE.UNREACHABLE` */
  untilUsable(ms: number): Promise<void>;
  /** Starts a worker as soon as that is possible; undefined when `signal` aborted before. */
  openWorker(name: QueueName, processor: BullProcessor, concurrency: number, signal: AbortSignal): Promise<OpenWorker | undefined>;
  /** Writes what a queue keeps about itself, such as the length of its event stream; repeated after a flush. */
  describeQueue(name: QueueName): Promise<void>;
  exclusively: Exclusively;
  ping(): Promise<void>;
  /** The server's clock, ms since the epoch. */
  serverClockMs(): Promise<number>;
  /** @throws CodedError `QUEUE.*` when the server is away */
  evictionPolicy(): Promise<EvictionPolicy>;
  /** @throws CodedError `QUEUE.*` when the server is away */
  persistence(): Promise<Persistence>;
  /** @throws CodedError `QUEUE.*` when the server is away */
  serverInfo(): Promise<ServerInfo>;
  close(ms: number): Promise<void>;
}
