import { isDeepStrictEqual } from "node:util";
import { CodedError } from "@toolctrl/foundation/errors";
import type { BullQueue } from "./driver.ts";
import type { JobDefaults } from "./settings.ts";

const SCHEDULER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export interface ScheduledJob {
  readonly schedulerId: string;
  readonly name: string;
  readonly data: unknown;
  /** Cron, in UTC. */
  readonly pattern?: string;
  readonly everyMs?: number;
}

/** Runs one at a time over all processes what is named alike. */
export type Exclusively = (name: string, run: () => Promise<void>) => Promise<void>;

/**
 * Makes a repeating job exist; does nothing when it does already.
 *
 * On Postgres BullMQ writes a schedule in several steps: two writers at once left two first turns behind, or a schedule that points at a
 * turn already over and never fires again. So writers exclude each other, and a schedule without a job for its next turn is written anew.
 *
 * @throws CodedError `QUEUE.SETTING`
 */
export async function scheduleJob(queue: BullQueue, job: ScheduledJob, defaults: JobDefaults, exclusively: Exclusively): Promise<void> {
  const repeat = repeatOf(job);
  const inPlace = (): Promise<boolean> => isInPlace(queue, job, repeat, defaults);
  if (await inPlace()) return;
  await exclusively(`schedule ${job.schedulerId}`, async () => {
    if (await inPlace()) return;
    await queue.upsertJobScheduler(job.schedulerId, repeat, { name: job.name, data: job.data });
  });
}

type Repeat = { readonly every: number } | { readonly pattern: string; readonly tz: "UTC" };

function repeatOf(job: ScheduledJob): Repeat {
  const { schedulerId, pattern, everyMs } = job;
  if (!SCHEDULER_ID.test(schedulerId))
    refuse(`the scheduler's id to be letters, digits, dots and hyphens, got ${JSON.stringify(schedulerId)}`);
  if (everyMs !== undefined && (!Number.isSafeInteger(everyMs) || everyMs < 1))
    refuse(`everyMs to be a whole number of ms, got ${everyMs}`);
  if (pattern !== undefined && everyMs === undefined) return { pattern, tz: "UTC" };
  if (pattern === undefined && everyMs !== undefined) return { every: everyMs };
  return refuse("either a pattern or everyMs, got both or none");
}

async function isInPlace(queue: BullQueue, job: ScheduledJob, repeat: Repeat, defaults: JobDefaults): Promise<boolean> {
  const found = await queue.getJobScheduler(job.schedulerId);
  if (found?.next === undefined || found.next === null || found.name !== job.name) return false;
  const sameTurns = "every" in repeat ? found.every === repeat.every : found.pattern === repeat.pattern && found.tz === repeat.tz;
  const { attempts, backoff } = found.template?.opts ?? {};
  const sameJob = isDeepStrictEqual(found.template?.data ?? {}, job.data ?? {}) && isDeepStrictEqual({ attempts, backoff }, defaults);
  if (!sameTurns || !sameJob) return false;
  const next = await queue.getJob(`repeat:${job.schedulerId}:${found.next}`);
  const state = await next?.getState();
  return state !== undefined && state !== "completed" && state !== "failed" && state !== "unknown";
}

function refuse(expected: string): never {
  throw new CodedError("QUEUE.SETTING", `expected ${expected}`, {});
}
