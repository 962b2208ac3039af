import type { QueueName } from "@toolctrl/foundation/queues";
import type { BullQueue, QueueDriver } from "./driver.ts";
import type { JobState, JobView, QueueCounts } from "./port.ts";

const STATES: Readonly<Record<string, JobState>> = {
  waiting: "waiting",
  paused: "waiting",
  prioritized: "waiting",
  "waiting-children": "waiting",
  active: "active",
  delayed: "delayed",
  completed: "completed",
  failed: "failed",
};

/** A job as an operator sees it, or null when the queue does not know it (any more). */
export async function viewOf(driver: Pick<QueueDriver, "queue" | "jobState">, queue: QueueName, jobId: string): Promise<JobView | null> {
  // The state first: one that is final is the job's last word, and what is read of it then is whole. The other way round a job that had just failed
  // had no reason yet.
  const state = STATES[await driver.jobState(queue, jobId)];
  const job = state === undefined ? undefined : await driver.queue(queue).getJob(jobId);
  if (job === undefined || state === undefined) return null;
  return {
    id: jobId,
    state,
    // BullMQ counts the attempt that succeeded as well.
    failures: state === "completed" ? job.attemptsMade - 1 : job.attemptsMade,
    starts: job.attemptsStarted,
    failedReason: job.failedReason ?? null,
    addedAt: dateOf(job.timestamp),
    startedAt: dateOf(job.processedOn),
    finishedAt: dateOf(job.finishedOn),
  };
}

export async function countsOf(queue: BullQueue): Promise<QueueCounts> {
  const counts = await queue.getJobCounts("waiting", "prioritized", "active", "delayed", "completed", "failed");
  const of = (state: string): number => counts[state] ?? 0;
  return {
    waiting: of("waiting") + of("prioritized") + of("paused"),
    active: of("active"),
    delayed: of("delayed"),
    completed: of("completed"),
    failed: of("failed"),
  };
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined || !Number.isFinite(ms) ? null : new Date(ms);
}
