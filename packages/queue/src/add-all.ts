import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { classifyQueueError, timeoutError, type ClassifiedFailure } from "./classify-error.ts";
import type { BullEntry, QueueDriver } from "./driver.ts";
import { jobIdProblem } from "./job-id.ts";
import type { AddResult, NewJob } from "./port.ts";

const OK: AddResult = { ok: true };
/** Most jobs of one pipeline: bounds the memory of a request, and how long the server runs nothing else. */
const CHUNK = 1000;
/** How long a fresh disconnection is waited out before the adds fail. */
const RECONNECT_WAIT_MS = 1000;

interface AddLimits {
  /** Bound of one request, ms. */
  readonly addTimeoutMs: number;
  /** Entries added one by one at a time. */
  readonly addConcurrency: number;
}

interface Batch {
  readonly queue: QueueName;
  /** Places of the entries in the caller's list. */
  readonly places: number[];
  readonly entries: BullEntry[];
}

/**
 * Adds many jobs: one `addBulk` per queue (and per thousand), nothing per job.
 *
 * A bulk add is not atomic and one bad entry ends it, so after a failure the entries are added one by one, with bounded concurrency;
 * ids are deterministic, so an entry that had been added already is not added twice. While the server is away nothing is tried twice.
 */
export function createAddAll(driver: QueueDriver, limits: AddLimits): (jobs: readonly NewJob[]) => Promise<AddResult[]> {
  return async (jobs) => {
    const results: AddResult[] = Array.from({ length: jobs.length });
    const sends: Promise<void>[] = [];
    for (const batch of groupByQueue(jobs, results)) sends.push(sendBatch(driver, batch, results, limits));
    await Promise.all(sends);
    return results;
  };
}

function groupByQueue(jobs: readonly NewJob[], results: AddResult[]): Iterable<Batch> {
  const batches = new Map<QueueName, Batch>();
  for (let place = 0; place < jobs.length; place += 1) {
    const job = jobs[place] as NewJob;
    const problem = jobProblem(job);
    if (problem !== null) {
      const facts = { id: job.id, queue: job.queue };
      results[place] = { ok: false, error: new CodedError("QUEUE.REJECTED", `expected the job's ${problem}`, { facts }) };
      continue;
    }
    let batch = batches.get(job.queue);
    if (batch === undefined) batches.set(job.queue, (batch = { queue: job.queue, places: [], entries: [] }));
    batch.places.push(place);
    const opts = job.delayMs === undefined || job.delayMs <= 0 ? { jobId: job.id } : { jobId: job.id, delay: Math.ceil(job.delayMs) };
    batch.entries.push({ name: job.name, data: job.data, opts });
  }
  return batches.values();
}

/** What is cheap to see beforehand. That `data` is JSON shows when it is written: BullMQ does so before it sends anything. */
function jobProblem(job: NewJob): string | null {
  const idProblem = jobIdProblem(job.id);
  if (idProblem !== null) return `id to be ${idProblem}`;
  if (typeof job.name !== "string" || job.name === "") return "name to be a non-empty string";
  if (job.delayMs !== undefined && !Number.isFinite(job.delayMs)) return `delay to be a number of ms, got ${job.delayMs}`;
  const type = typeof job.data;
  return type === "undefined" || type === "function" || type === "symbol" ? `data to be JSON, got ${type}` : null;
}

async function sendBatch(driver: QueueDriver, batch: Batch, results: AddResult[], limits: AddLimits): Promise<void> {
  for (let from = 0; from < batch.entries.length; from += CHUNK) {
    const to = Math.min(from + CHUNK, batch.entries.length);
    const down = await sendChunk({ driver, batch, results, limits, from, to });
    if (down === undefined) continue;
    return fill(results, batch.places, to, batch.places.length, { ok: false, error: down.error });
  }
}

interface Chunk {
  readonly driver: QueueDriver;
  readonly batch: Batch;
  readonly results: AddResult[];
  readonly limits: AddLimits;
  readonly from: number;
  readonly to: number;
}

/** Returns the failure when the server is away, so that the chunks behind need not be tried. */
async function sendChunk(chunk: Chunk): Promise<ClassifiedFailure | undefined> {
  const { driver, batch, results, from, to } = chunk;
  const { addTimeoutMs } = chunk.limits;
  const deadline = performance.now() + addTimeoutMs;
  try {
    if (!driver.isUsable()) await driver.untilUsable(Math.min(RECONNECT_WAIT_MS, addTimeoutMs / 2));
    const entries = batch.entries.length <= CHUNK ? batch.entries : batch.entries.slice(from, to);
    await withDeadline(driver.queue(batch.queue).addBulk(entries), deadline - performance.now(), () =>
      timeoutError("the bulk add", addTimeoutMs),
    );
    fill(results, batch.places, from, to, OK);
    return undefined;
  } catch (error) {
    const failed = classifyQueueError(error);
    if (failed.reach !== "down") return addOneByOne(chunk, deadline);
    fill(results, batch.places, from, to, { ok: false, error: failed.error });
    return failed;
  }
}

async function addOneByOne(chunk: Chunk, deadline: number): Promise<ClassifiedFailure | undefined> {
  const { driver, batch, results, to } = chunk;
  const { addTimeoutMs, addConcurrency } = chunk.limits;
  let next = chunk.from;
  let down: ClassifiedFailure | undefined;
  const addNext = async (): Promise<void> => {
    while (next < to) {
      const at = next;
      next += 1;
      const result = down === undefined ? await addOne(at) : { ok: false as const, error: down.error };
      results[batch.places[at] as number] = result;
    }
  };
  const addOne = async (at: number): Promise<AddResult> => {
    const { name, data, opts } = batch.entries[at] as BullEntry;
    try {
      if (!driver.isUsable()) await driver.untilUsable(Math.min(RECONNECT_WAIT_MS, deadline - performance.now()));
      await withDeadline(driver.queue(batch.queue).add(name, data, opts), deadline - performance.now(), () =>
        timeoutError("the add", addTimeoutMs),
      );
      return OK;
    } catch (error) {
      const failed = classifyQueueError(error);
      if (failed.reach !== "entry") down = failed;
      return { ok: false, error: failed.error };
    }
  };
  await Promise.all(Array.from({ length: addConcurrency }, addNext));
  return down;
}

function fill(results: AddResult[], places: readonly number[], from: number, to: number, result: AddResult): void {
  for (let at = from; at < to; at += 1) results[places[at] as number] = result;
}
