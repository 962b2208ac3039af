import type { QueueName } from "@toolctrl/foundation/queues";
import type { RedisClient, RedisConnection } from "@toolctrl/redis/client";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { Queue } from "bullmq";
import { timeoutError } from "../classify-error.ts";
import { createErrorReporter, type ErrorReporter } from "../log.ts";
import { assertQueueName } from "../names.ts";
import { jobDefaults, type QueueSettings } from "../settings.ts";

type RedisQueue = Queue<unknown, unknown>;

/** The producer's side of all queues, over one connection. */
export interface RedisProducer {
  /** @throws CodedError `QUEUE.NAME` */
  queue(name: QueueName): RedisQueue;
  /** Writes what a queue keeps about itself, such as the length of its event stream. */
  describe(name: QueueName): Promise<void>;
  close(ms: number): Promise<void>;
}

export function createRedisProducer(connection: RedisConnection, settings: QueueSettings, report: ErrorReporter): RedisProducer {
  const { client, usableEvent, isUsable } = connection;
  const queues = new Map<QueueName, RedisQueue>();
  const queue = (name: QueueName): RedisQueue => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    assertQueueName(name);
    const made = new Queue<unknown, unknown>(name, queueOptions(client, settings));
    made.on("error", createErrorReporter(settings.log, { queue: name, backend: "redis" }, "the queue's producer failed"));
    queues.set(name, made);
    if (isUsable()) void describeQuietly(name);
    return made;
  };
  const describe = async (name: QueueName): Promise<void> => {
    await queue(name).getBackend().setQueueMeta(queue(name).metaValues);
  };
  const describeQuietly = (name: QueueName): Promise<void> => describe(name).catch(report);
  // BullMQ does this once, and not at all when the connection is down then.
  client.on(usableEvent, () => void Promise.all([...queues.keys()].map(describeQuietly)));
  return {
    queue,
    describe,
    async close(ms) {
      const ends = [...queues.values()].map((each) => withDeadline(each.close(), ms, () => timeoutError("closing", ms)).catch(report));
      await Promise.all(ends);
    },
  };
}

function queueOptions(client: RedisClient, settings: QueueSettings) {
  return {
    connection: client,
    prefix: settings.prefix,
    defaultJobOptions: jobDefaults(settings),
    streams: { events: { maxLen: settings.maxEvents } },
    // Waiting for the connection, or asking for its version, would fail every later add of this queue once it has failed.
    skipWaitingForReady: true,
    skipVersionCheck: true,
    skipMetasUpdate: true,
  };
}
