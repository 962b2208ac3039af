import { describeError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { createAddAll } from "./add-all.ts";
import { classifyQueueError, timeoutError, unreachableError } from "./classify-error.ts";
import { measureClockSkew } from "./clock-skew.ts";
import type { QueueDriver } from "./driver.ts";
import { countsOf, viewOf } from "./job-view.ts";
import type { JobHandler, QueueBackend, QueueWorker, WorkerOptions } from "./port.ts";
import { createPostgresDriver } from "./postgres/postgres-driver.ts";
import { createQueueWorker } from "./queue-worker.ts";
import { createRedisDriver } from "./redis/redis-driver.ts";
import { createErrorReporter } from "./log.ts";
import { scheduleJob } from "./schedule-job.ts";
import { createScheduleKeeper } from "./schedule-keeper.ts";
import { jobDefaults, queueSettings, type QueueBackendOptions, type QueueSettings } from "./settings.ts";

export type { KeepFinished, QueueBackendOptions } from "./settings.ts";
export type { QueueLog } from "./log.ts";

const FIRST_CONNECT_MS = 1000;
const CLIENT_CLOSE_MS = 500;

/**
 * BullMQ on Redis or on Postgres. Comes back within about a second even when the server is away: adds then fail fast and workers wait,
 * and both go on by themselves when it is there.
 *
 * @throws CodedError `QUEUE.PREFIX`, `QUEUE.SETTING` for options that cannot work.
 */
export async function createQueueBackend(options: QueueBackendOptions): Promise<QueueBackend> {
  const settings = queueSettings(options);
  const driver =
    options.kind === "redis" ? createRedisDriver(options.redisUrl, settings) : createPostgresDriver(options.databaseUrl, settings);
  await driver.untilUsable(FIRST_CONNECT_MS).catch((error: unknown) => {
    options.log.warn({ backend: driver.kind, err: error }, "the queue's server does not answer yet");
  });
  return assemble(driver, settings);
}

function assemble(driver: QueueDriver, settings: QueueSettings): QueueBackend {
  const { addTimeoutMs } = settings;
  const workers = new Set<QueueWorker>();
  const addAll = createAddAll(driver, settings);
  let closing: Promise<void> | undefined;
  const closed = () => unreachableError("a backend that has been closed");
  const request = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw closed();
    const deadline = performance.now() + addTimeoutMs;
    try {
      if (!driver.isUsable()) await driver.untilUsable(addTimeoutMs / 2);
      return await withDeadline(run(), deadline - performance.now(), () => timeoutError(what, addTimeoutMs));
    } catch (error) {
      throw classifyQueueError(error).error;
    }
  };
  const work = (queue: QueueName, handler: JobHandler, options: WorkerOptions): QueueWorker => {
    if (closing !== undefined) throw closed();
    const worker = createQueueWorker(driver, settings, queue, handler, options);
    workers.add(worker);
    return worker;
  };
  const schedules = createScheduleKeeper({
    ensure: (queue, job) => request("the schedule", () => scheduleJob(driver.queue(queue), job, jobDefaults(settings), driver.exclusively)),
    report: createErrorReporter(settings.log, { backend: driver.kind }, "a schedule could not be checked"),
  });
  const close = async (graceMs: number): Promise<void> => {
    schedules.stop();
    await Promise.all([...workers].map((worker) => worker.close(graceMs)));
    await driver.close(CLIENT_CLOSE_MS);
  };
  return {
    kind: driver.kind,
    prefix: settings.prefix,
    addAll: async (jobs) => (closing === undefined ? addAll(jobs) : jobs.map(() => ({ ok: false, error: closed() }))),
    work,
    schedule: (queue, job) => schedules.keep(queue, job),
    counts: (queue) => request("the counts", async () => countsOf(driver.queue(queue))),
    find: (queue, jobId) => request("the search", () => viewOf(driver, queue, jobId)),
    findLive: (queue, jobIds) => request("the search", () => driver.findLive(queue, jobIds)),
    ping: () => (closing === undefined ? driver.ping() : Promise.reject(closed())),
    clockSkewMs: () => measureClockSkew(() => driver.serverClockMs()),
    evictionPolicy: () => driver.evictionPolicy().catch(unknown),
    persistence: () => driver.persistence().catch(unknown),
    serverInfo: () => driver.serverInfo().catch(unknown),
    obliterate: (queue) =>
      request("the deletion", async () => {
        await driver.queue(queue).obliterate({ force: true });
        await driver.describeQueue(queue);
      }),
    close: (graceMs) => (closing ??= close(graceMs)),
  };
}

/** An outage is an answer here: nobody can know. */
function unknown(error: unknown): { kind: "unknown"; why: string } {
  return { kind: "unknown", why: describeError(error, 200) };
}
