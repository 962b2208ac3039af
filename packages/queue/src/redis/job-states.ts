import type { RedisClient } from "@toolctrl/redis/client";
import type { ChainableCommander } from "ioredis";

/**
 * BullMQ's own question for a state reads the whole list of what waits, inside the server: asked of 10,000 jobs beside 180,000 that waited,
 * it held Redis for longer than its clients' time-outs, again and again. These two cost the same beside any number of them.
 */

type KeyOf = (suffix: string) => string;

/** Where BullMQ keeps a job that is neither waiting nor running: sorted sets, which find an id without reading the others. */
const SETS = ["completed", "failed", "delayed", "prioritized"] as const;

/** The state of a job as BullMQ names it, "unknown" when there is no such job. Of the lists only that of running jobs is searched. */
export async function readJobState(client: RedisClient, keyOf: KeyOf, jobId: string): Promise<string> {
  const question = client.multi().exists(keyOf(jobId)).lpos(keyOf("active"), jobId);
  for (const set of SETS) question.zscore(keyOf(set), jobId);
  const [there, running, ...scores] = await answersTo(question);
  const set = SETS.find((_set, index) => scores[index] !== null);
  if (set !== undefined) return set;
  if (running !== null) return "active";
  return there === 1 ? "waiting" : "unknown";
}

/**
 * Those of some jobs that may still run: their hash is there, and names no end. BullMQ writes `finishedOn` with the last move of a job,
 * and takes it away when one is run again.
 */
export async function findLiveJobs(client: RedisClient, keyOf: KeyOf, jobIds: readonly string[]): Promise<Set<string>> {
  const question = client.pipeline();
  for (const id of jobIds) question.hmget(keyOf(id), "timestamp", "finishedOn");
  const answers = (await answersTo(question)) as Array<[addedAt: string | null, finishedOn: string | null]>;
  return new Set(
    jobIds.filter((_id, index) => {
      const [addedAt, finishedOn] = answers[index] ?? [null, null];
      return addedAt !== null && finishedOn === null;
    }),
  );
}

async function answersTo(question: ChainableCommander): Promise<unknown[]> {
  const answers = (await question.exec()) ?? [];
  return answers.map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}
