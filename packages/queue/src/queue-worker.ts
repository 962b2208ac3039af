import { setTimeout as delay } from "node:timers/promises";
import { CodedError, describeError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { createProcessor } from "./deliver.ts";
import type { BullJob, OpenWorker, QueueDriver } from "./driver.ts";
import { createErrorReporter, type QueueLog } from "./log.ts";
import type { JobHandler, QueueWorker, WorkerOptions } from "./port.ts";
import { createRunningJobs, type RunningJobs } from "./running-jobs.ts";
import type { QueueSettings } from "./settings.ts";

/** With no handler running a graceful close takes milliseconds; where it takes longer, the server is away. */
const IDLE_CLOSE_MS = 2000;
/** What an aborted handler gets to end in an orderly way. */
const ABORTED_CLOSE_MS = 500;

/** Starts a worker on a queue; see the port for what its handler, `onDead` and `close` promise. */
export function createQueueWorker(
  driver: QueueDriver,
  settings: QueueSettings,
  queue: QueueName,
  handler: JobHandler,
  options: WorkerOptions,
): QueueWorker {
  const { log } = settings;
  const running = createRunningJobs(settings.lockMs);
  const stopping = new AbortController();
  const deaths = new Set<Promise<void>>();
  const watch = setInterval(() => running.abortExpired(), settings.lockMs / 4);
  watch.unref();
  const opening = driver.openWorker(queue, createProcessor(queue, handler, running), options.concurrency, stopping.signal).then((open) => {
    if (open !== undefined) listen(open, running, deaths, { log, queue, options });
    return open;
  });
  opening.catch((error: unknown) => log.error({ queue, err: error }, "the worker could not start"));
  let closing: Promise<void> | undefined;
  const close = async (graceMs: number): Promise<void> => {
    stopping.abort();
    const deadline = performance.now() + graceMs;
    let open: OpenWorker | undefined;
    await withinMs(
      opening.then((opened) => (open = opened)),
      graceMs,
    );
    if (open !== undefined) await closeOpenWorker(open, running, Math.max(0, deadline - performance.now()), log, queue);
    await withinMs(Promise.all(deaths), Math.max(ABORTED_CLOSE_MS, deadline - performance.now()));
    clearInterval(watch);
  };
  return { queue, close: (graceMs) => (closing ??= close(graceMs)) };
}

function listen(
  open: OpenWorker,
  running: RunningJobs,
  deaths: Set<Promise<void>>,
  context: { log: QueueLog; queue: QueueName; options: WorkerOptions },
): void {
  const { log, queue, options } = context;
  const { worker } = open;
  worker.on("error", createErrorReporter(log, { queue }, "the worker's request failed"));
  worker.on("locksRenewed", ({ jobIds }) => running.renewed(jobIds));
  worker.on("lockRenewalFailed", (jobIds) => running.lost(jobIds));
  worker.on("stalled", (id) => {
    // Before it is dead nothing else names a job that brings its worker down.
    log.warn({ queue, jobId: id }, "a job was taken from a worker that died or lost it");
    options.onStalled?.({ id, queue });
  });
  worker.on("failed", (job, error) => {
    // Also told of failures that will be retried. Only the move to the failed set gives a job its end, and only once it has succeeded.
    if (job?.finishedOn === undefined) return;
    const told = tellDead(job, error, context).finally(() => deaths.delete(told));
    deaths.add(told);
  });
  log.debug({ queue, concurrency: options.concurrency }, "worker started");
}

async function tellDead(job: BullJob, error: Error, context: { log: QueueLog; queue: QueueName; options: WorkerOptions }): Promise<void> {
  const { log, queue, options } = context;
  const jobId = job.id ?? "";
  const reason = job.deferredFailure ? stallError(jobId, job, error) : error.cause instanceof Error ? error.cause : error;
  log.warn({ queue, jobId, failures: job.attemptsMade, starts: job.attemptsStarted, error: describeError(reason, 300) }, "job is dead");
  try {
    await options.onDead?.({ id: jobId, queue, name: job.name, data: job.data }, reason);
  } catch (failed) {
    log.error({ queue, jobId, err: failed }, "onDead failed");
  }
}

/** BullMQ itself ended the job: its workers died or lost it more often than is allowed. */
function stallError(jobId: string, job: BullJob, error: Error): CodedError {
  return new CodedError(
    "QUEUE.STALLED",
    `expected a worker to finish job ${jobId}, got ${job.stalledCounter} that died or lost it: ${error.message}`,
    {
      facts: { jobId, starts: job.attemptsStarted, failures: job.attemptsMade },
    },
  );
}

async function closeOpenWorker(open: OpenWorker, running: RunningJobs, graceMs: number, log: QueueLog, queue: QueueName): Promise<void> {
  const timers = new AbortController();
  const after = (ms: number): Promise<false> => delay(ms, false as const, { signal: timers.signal }).catch(() => false as const);
  const done = open.worker.close().then(
    () => true,
    () => false,
  );
  const stuck = async (): Promise<false> => {
    do {
      await running.idle();
      await after(IDLE_CLOSE_MS);
    } while (running.size > 0 && !timers.signal.aborted);
    return false;
  };
  try {
    if (await Promise.race([done, stuck(), after(graceMs)])) return;
    log.warn({ queue, running: running.size, graceMs }, "the worker did not close in time; closing by force");
    running.abortAll(
      new CodedError("QUEUE.STOPPING", `expected the handler to end within ${graceMs} ms of the stop, got no end`, { facts: { queue } }),
    );
    if (await Promise.race([done, after(running.size === 0 ? 0 : ABORTED_CLOSE_MS)])) return;
    await withinMs(open.force(), ABORTED_CLOSE_MS);
  } finally {
    timers.abort();
  }
}

async function withinMs(promise: Promise<unknown>, ms: number): Promise<void> {
  const timer = new AbortController();
  const settled = promise.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([settled, delay(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
}
