import { CodedError } from "@toolctrl/foundation/errors";
import type { BullQueue } from "./driver.ts";

const SCHEDULER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export interface ScheduledJob {
  readonly schedulerId: string;
  readonly name: string;
  readonly data: unknown;
  /** Cron, in UTC. */
  readonly pattern?: string;
  readonly everyMs?: number;
}

/**
 * Makes a repeating job exist. Asked for again, by this process or another, it is updated and still fires once per turn.
 * @throws CodedError `QUEUE.SETTING`
 */
export async function scheduleJob(queue: BullQueue, job: ScheduledJob): Promise<void> {
  const { schedulerId, name, data, pattern, everyMs } = job;
  if (!SCHEDULER_ID.test(schedulerId)) refuse(`the scheduler's id to be letters, digits, dots and hyphens, got ${JSON.stringify(schedulerId)}`);
  if ((pattern === undefined) === (everyMs === undefined)) refuse("either a pattern or everyMs, got both or none");
  if (everyMs !== undefined && (!Number.isSafeInteger(everyMs) || everyMs < 1)) refuse(`everyMs to be a whole number of ms, got ${everyMs}`);
  const repeat = pattern === undefined ? { every: everyMs as number } : { pattern, tz: "UTC" };
  await queue.upsertJobScheduler(schedulerId, repeat, { name, data });
}

function refuse(expected: string): never {
  throw new CodedError("QUEUE.SETTING", `expected ${expected}`, {});
}
