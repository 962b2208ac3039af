import type { BullQueue } from "./driver.ts";
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

const LIVE: ReadonlySet<JobState> = new Set(["waiting", "active", "delayed"]);

/** A job as an operator sees it, or null when the queue does not know it (any more). */
export async function viewOf(queue: BullQueue, jobId: string): Promise<JobView | null> {
  const job = await queue.getJob(jobId);
  const state = STATES[(await job?.getState()) ?? "absent"];
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

/** Questions to the server at once: on Postgres each takes a connection of a small pool, and waiting for one is bounded. */
const STATES_AT_ONCE = 20;

/** Those of the jobs that may still run. */
export async function liveOf(queue: BullQueue, jobIds: readonly string[]): Promise<Set<string>> {
  const live = new Set<string>();
  const open = jobIds.values();
  const lane = async (): Promise<void> => {
    for (const id of open) if (LIVE.has(STATES[await queue.getJobState(id)] ?? "absent")) live.add(id);
  };
  await Promise.all(Array.from({ length: Math.min(STATES_AT_ONCE, jobIds.length) }, lane));
  return live;
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
