import type { BullQueue } from "../driver.ts";

const LIVE: ReadonlySet<string> = new Set(["waiting", "paused", "prioritized", "waiting-children", "active", "delayed"]);
/** Questions at once: each takes a connection of a small pool, and waiting for one is bounded. */
const STATES_AT_ONCE = 20;

/** Those of some jobs that may still run, by their state: a look at one row each, by its key. */
export async function findLiveJobs(queue: Pick<BullQueue, "getJobState">, jobIds: readonly string[]): Promise<Set<string>> {
  const live = new Set<string>();
  const open = jobIds.values();
  const lane = async (): Promise<void> => {
    for (const id of open) if (LIVE.has(await queue.getJobState(id))) live.add(id);
  };
  await Promise.all(Array.from({ length: Math.min(STATES_AT_ONCE, jobIds.length) }, lane));
  return live;
}
