import type { QueueName } from "@toolctrl/foundation/queues";
import type { RedisClient, RedisConnection } from "@toolctrl/redis/client";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { Worker } from "bullmq";
import { classifyQueueError, timeoutError } from "../classify-error.ts";
import type { BullProcessor, BullQueue, OpenWorker, QueueDriver } from "../driver.ts";
import { createErrorReporter } from "../log.ts";
import { assertQueueName } from "../names.ts";
import { workerSettings, type QueueSettings } from "../settings.ts";
import { readEvictionPolicy } from "./eviction-policy.ts";
import { findLiveJobs, readJobState } from "./job-states.ts";
import { readPersistence } from "./persistence.ts";
import { createFailFastClient, createWorkerClient, endClient, redisAddressOf, untilUsable } from "./redis-client.ts";
import { createRedisProducer } from "./redis-producer.ts";
import { readServerClock } from "./server-clock.ts";
import { readServerInfo } from "./server-info.ts";

const PING_MS = 1200;

/**
 * BullMQ on Redis: one fail-fast client for all producers, one for all workers (and a blocking one each), one for probes. On a cluster each of them
 * has a connection to every node that it has spoken to.
 */
export function createRedisDriver(url: string | undefined, settings: QueueSettings): QueueDriver {
  const address = redisAddressOf(url);
  const { prefix, addTimeoutMs } = settings;
  const reporter = (side: string) => createErrorReporter(settings.log, { side, backend: "redis" }, "the queue's connection failed");
  const connection = createFailFastClient(address, { prefix, report: reporter("producer"), timeoutMs: addTimeoutMs });
  const { client } = connection;
  const producer = createRedisProducer(connection, settings, reporter("producer"));
  const probe = createFailFastClient(address, { prefix, report: reporter("probe"), timeoutMs: PING_MS, lazyConnect: true });
  const keysOf = (name: QueueName) => (suffix: string) => producer.queue(name).toKey(suffix);
  let workers: RedisConnection | undefined;
  return {
    kind: "redis",
    queue: (name): BullQueue => producer.queue(name),
    jobState: (name, jobId) => readJobState(client, keysOf(name), jobId),
    findLive: (name, jobIds) => findLiveJobs(client, keysOf(name), jobIds),
    isUsable: () => connection.isUsable(),
    untilUsable: (ms) => untilUsable(connection, ms),
    describeQueue: (name) => producer.describe(name),
    openWorker: async (name, processor, concurrency) => {
      workers ??= createWorkerClient(address, { prefix, report: reporter("worker") });
      return openRedisWorker(workers.client, name, processor, concurrency, settings);
    },
    // BullMQ changes a schedule in one script.
    exclusively: (_name, run) => run(),
    ping: () => probed(probe, async (redis) => void (await redis.set(`${prefix}:ping`, "1", "PX", 10_000))),
    serverClockMs: () => probed(probe, (redis) => readServerClock(redis, `${prefix}:ping`)),
    evictionPolicy: () => probed(probe, readEvictionPolicy),
    persistence: () => probed(probe, readPersistence),
    serverInfo: () => probed(probe, readServerInfo),
    close: async (ms) => {
      await producer.close(ms);
      await Promise.all([connection, probe, ...(workers === undefined ? [] : [workers])].map((each) => endClient(each, ms)));
    },
  };
}

function openRedisWorker(
  connection: RedisClient,
  name: QueueName,
  processor: BullProcessor,
  concurrency: number,
  settings: QueueSettings,
): OpenWorker {
  assertQueueName(name);
  const options = { connection, prefix: settings.prefix, ...workerSettings(settings, concurrency) };
  const worker = new Worker<unknown, unknown>(name, processor, options);
  return { worker, force: () => worker.getBackend().close(true) };
}

async function probed<T>(probe: RedisConnection, request: (redis: RedisClient) => Promise<T>): Promise<T> {
  const deadline = performance.now() + PING_MS;
  try {
    await untilUsable(probe, PING_MS);
    return await withDeadline(request(probe.client), deadline - performance.now(), () => timeoutError("the probe", PING_MS));
  } catch (error) {
    throw classifyQueueError(error).error;
  }
}
