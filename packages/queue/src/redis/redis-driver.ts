import type { QueueName } from "@toolctrl/foundation/queues";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { classifyQueueError, timeoutError } from "../classify-error.ts";
import type { BullProcessor, BullQueue, OpenWorker, QueueDriver } from "../driver.ts";
import { createErrorReporter } from "../log.ts";
import { assertQueueName } from "../names.ts";
import { jobDefaults, workerSettings, type QueueSettings } from "../settings.ts";
import { assertRedisUrl, createFailFastClient, createWorkerClient, endClient, untilReady } from "./redis-client.ts";

const PING_MS = 1200;

type RedisQueue = Queue<unknown, unknown, string>;

/** BullMQ on Redis: one fail-fast connection for all producers, one for all workers (and a blocking one each), one for probes. */
export function createRedisDriver(url: string | undefined, settings: QueueSettings): QueueDriver {
  assertRedisUrl(url);
  const { log, prefix, addTimeoutMs } = settings;
  const reporter = (side: string) => createErrorReporter(log, { side, backend: "redis" }, "the queue's connection failed");
  const producer = createFailFastClient(url, addTimeoutMs, reporter("producer"));
  const probe = createFailFastClient(url, PING_MS, reporter("probe"), true);
  let workers: Redis | undefined;
  const queues = new Map<QueueName, RedisQueue>();

  const queue = (name: QueueName): RedisQueue => queues.get(name) ?? makeQueue(name);
  const makeQueue = (name: QueueName): RedisQueue => {
    assertQueueName(name);
    // Both skips matter: waiting for the connection, or asking for its version, once failed would fail every later add of this queue.
    const connection = { connection: producer, prefix, skipVersionCheck: true, skipWaitingForReady: true, skipMetasUpdate: true, streams: { events: { maxLen: settings.maxEvents } } };
    const made = new Queue<unknown, unknown, string>(name, { ...connection, defaultJobOptions: jobDefaults(settings) });
    made.on("error", createErrorReporter(log, { queue: name, backend: "redis" }, "the queue's producer failed"));
    queues.set(name, made);
    if (producer.status === "ready") void describeQuietly(name);
    return made;
  };
  const describeQueue = async (name: QueueName): Promise<void> => {
    await queue(name).getBackend().setQueueMeta(queue(name).metaValues);
  };
  const describeQuietly = (name: QueueName): Promise<void> => describeQueue(name).catch(reporter("producer"));
  producer.on("ready", () => void Promise.all([...queues.keys()].map(describeQuietly)));

  return {
    kind: "redis",
    queue: (name): BullQueue => queue(name),
    isUsable: () => producer.status === "ready",
    untilUsable: (ms) => untilReady(producer, ms),
    describeQueue,
    openWorker: async (name, processor, concurrency) => {
      workers ??= createWorkerClient(url, reporter("worker"));
      return openRedisWorker(workers, name, processor, concurrency, settings);
    },
    // BullMQ changes a schedule in one script.
    exclusively: (_name, run) => run(),
    ping: () => probed(probe, async () => void (await probe.set(`${prefix}:ping`, "1", "PX", 10_000))),
    serverClockMs: () => probed(probe, async () => clockOf(await probe.time())),
    close: async (ms) => {
      await Promise.all([...queues.values()].map((each) => withDeadline(each.close(), ms, () => timeoutError("closing", ms)).catch(reporter("producer"))));
      await Promise.all([producer, probe, ...(workers === undefined ? [] : [workers])].map((client) => endClient(client, ms)));
    },
  };
}

function openRedisWorker(connection: Redis, name: QueueName, processor: BullProcessor, concurrency: number, settings: QueueSettings): OpenWorker {
  assertQueueName(name);
  const worker = new Worker<unknown, unknown, string>(name, processor, {
    connection,
    prefix: settings.prefix,
    ...workerSettings(settings, concurrency),
  });
  return { worker, force: () => worker.getBackend().close(true) };
}

async function probed<T>(probe: Redis, request: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PING_MS;
  try {
    await untilReady(probe, PING_MS);
    return await withDeadline(request(), deadline - performance.now(), () => timeoutError("the probe", PING_MS));
  } catch (error) {
    throw classifyQueueError(error).error;
  }
}

/** Redis answers TIME with seconds and microseconds, as numbers or as their text. */
function clockOf(time: readonly (number | string)[]): number {
  return Number(time[0]) * 1000 + Number(time[1]) / 1000;
}
