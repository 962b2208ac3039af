import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueLog } from "./log.ts";
import { assertPrefix } from "./names.ts";

export interface KeepFinished {
  /** Seconds a finished job is kept. */
  readonly ageSeconds: number;
  /** How many are kept at most, the youngest. */
  readonly count: number;
}

export interface QueueBackendOptions {
  readonly kind: "redis" | "postgres";
  /** `redis://…` of one Redis, or `redis+cluster://…`; needed for `redis`. */
  readonly redisUrl?: string | undefined;
  /** A direct connection (no pooler in transaction mode); needed for `postgres`. */
  readonly databaseUrl?: string | undefined;
  /** Hash-tagged, like `{toolctrl}`. On Postgres it names the schema. */
  readonly prefix: string;
  /** How often a job may fail before it is dead. */
  readonly attempts: number;
  /** Wait before the second attempt, ms; doubled for each further one. */
  readonly backoffMs: number;
  readonly log: QueueLog;
  /** Bound of one add, and of every other request of a producer, ms. */
  readonly addTimeoutMs?: number | undefined;
  /** Entries added one by one at a time, after a bulk add had to be taken apart; default 10. */
  readonly addConcurrency?: number | undefined;
  readonly keep?: { readonly completed?: KeepFinished; readonly failed?: KeepFinished } | undefined;
  /** How long a worker's hold on a job lasts without renewal, ms. */
  readonly lockMs?: number | undefined;
  /** How often a worker looks for jobs whose worker has died, ms. */
  readonly stalledCheckMs?: number | undefined;
}

export interface QueueSettings {
  readonly prefix: string;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly log: QueueLog;
  readonly addTimeoutMs: number;
  readonly addConcurrency: number;
  readonly keepCompleted: KeepFinished;
  readonly keepFailed: KeepFinished;
  readonly lockMs: number;
  readonly stalledCheckMs: number;
  /** Entries of a queue's event stream; nothing of the product reads it. */
  readonly maxEvents: number;
}

const DAY_SECONDS = 86_400;
// BullMQ on Postgres looks at all kept jobs whenever one ends: keeping 1,000 instead of 100 cost a third of its throughput.
const KEEP_COMPLETED = { redis: 1000, postgres: 100 } as const;

/** @throws CodedError `QUEUE.PREFIX`, `QUEUE.SETTING` */
export function queueSettings(options: QueueBackendOptions): QueueSettings {
  assertPrefix(options.prefix);
  return {
    prefix: options.prefix,
    attempts: whole("attempts", options.attempts, 1, 100),
    backoffMs: whole("backoffMs", options.backoffMs, 0, 86_400_000),
    log: options.log,
    addTimeoutMs: whole("addTimeoutMs", options.addTimeoutMs ?? 5000, 100, 60_000),
    addConcurrency: whole("addConcurrency", options.addConcurrency ?? 10, 1, 1000),
    keepCompleted: keep("keep.completed", options.keep?.completed ?? { ageSeconds: DAY_SECONDS, count: KEEP_COMPLETED[options.kind] }),
    keepFailed: keep("keep.failed", options.keep?.failed ?? { ageSeconds: 30 * DAY_SECONDS, count: 5000 }),
    lockMs: whole("lockMs", options.lockMs ?? 30_000, 200, 3_600_000),
    stalledCheckMs: whole("stalledCheckMs", options.stalledCheckMs ?? 15_000, 50, 3_600_000),
    maxEvents: 1000,
  };
}

function keep(name: string, value: KeepFinished): KeepFinished {
  return {
    ageSeconds: whole(`${name}.ageSeconds`, value.ageSeconds, 1, 3650 * DAY_SECONDS),
    count: whole(`${name}.count`, value.count, 0, 1_000_000),
  };
}

function whole(name: string, value: number, min: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new CodedError("QUEUE.SETTING", `expected ${name} to be a whole number from ${min} to ${max}, got ${value}`, {
    facts: { name, value },
  });
}

/** Options stored with every job. Retention is the worker's, so that jobs stay small and a changed setting reaches old jobs too. */
export interface JobDefaults {
  readonly attempts: number;
  readonly backoff: { readonly type: "exponential"; readonly delay: number };
}

export function jobDefaults(settings: QueueSettings): JobDefaults {
  return { attempts: settings.attempts, backoff: { type: "exponential", delay: settings.backoffMs } };
}

/** Options of every worker. */
export function workerSettings(settings: QueueSettings, concurrency: number) {
  const { keepCompleted, keepFailed } = settings;
  return {
    concurrency,
    lockDuration: settings.lockMs,
    stalledInterval: settings.stalledCheckMs,
    // A job whose worker dies is started again as often as one that fails: with BullMQ's own limit of 1, two deployments that
    // cut a job off would kill it with all its attempts unused.
    maxStalledCount: settings.attempts,
    removeOnComplete: { age: keepCompleted.ageSeconds, count: keepCompleted.count },
    removeOnFail: { age: keepFailed.ageSeconds, count: keepFailed.count },
  };
}
