import type { QueueName } from "@toolctrl/foundation/queues";
import { type PostgresConnection, PostgresQueueBackend, withBackend, type BackendFactory, type PostgresConnectionOptions } from "bullmq";
import { unreachableError } from "../classify-error.ts";
import { createErrorReporter, type ErrorReporter } from "../log.ts";
import { assertQueueName } from "../names.ts";
import { jobDefaults, type QueueSettings } from "../settings.ts";
import { openConnection } from "./open-connection.ts";
import { connectWithRetry, migrateWithRetry, type PostgresTarget } from "./postgres-boot.ts";

/** Connections that all producers of a process share. */
const PRODUCER_CONNECTIONS = 4;

export type PostgresBackendFactory = BackendFactory<PostgresQueueBackend, PostgresConnectionOptions>;
type PostgresQueue = InstanceType<ReturnType<typeof withBackend<PostgresQueueBackend, PostgresConnectionOptions>>["Queue"]>;

/** The producer's side of all queues, over one small pool; usable when BullMQ's tables are there and the pool has answered. */
export interface PostgresProducer {
  /** Settles when it is usable, however long that takes, or `signal` has aborted. */
  readonly booting: Promise<void>;
  isUsable(): boolean;
  /** @throws CodedError `QUEUE.NAME`, `QUEUE.UNREACHABLE` */
  queue(name: QueueName): PostgresQueue;
  /** Writes what a queue keeps about itself, such as the length of its event stream. */
  describe(name: QueueName): Promise<void>;
  close(): Promise<void>;
}

export function createPostgresProducer(
  target: PostgresTarget,
  settings: QueueSettings,
  report: ErrorReporter,
  signal: AbortSignal,
): PostgresProducer {
  let connection: PostgresConnection | undefined;
  const boot = async (): Promise<void> => {
    await migrateWithRetry(target, report, signal);
    const make = () => openConnection(target, { max: PRODUCER_CONNECTIONS, timeoutMs: settings.addTimeoutMs }, report);
    connection = await connectWithRetry(make, report, signal);
  };
  const queues = new Map<QueueName, PostgresQueue>();
  const queue = (name: QueueName): PostgresQueue => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    assertQueueName(name);
    if (connection === undefined) throw unreachableError("no connection so far");
    const made = makeQueue(connection, target, name, settings);
    queues.set(name, made);
    describe(name).catch(report);
    return made;
  };
  const describe = async (name: QueueName): Promise<void> => {
    await queue(name).getBackend().setQueueMeta(queue(name).metaValues);
  };
  return {
    booting: boot(),
    isUsable: () => connection !== undefined,
    queue,
    describe,
    async close() {
      await Promise.all([...queues.values()].map((each) => each.close()));
      await connection?.close();
    },
  };
}

function makeQueue(connection: PostgresConnection, target: PostgresTarget, name: QueueName, settings: QueueSettings): PostgresQueue {
  // All queues use one connection, and leave it open when they close.
  const factory: PostgresBackendFactory = (queueName, opts) => new PostgresQueueBackend(connection, queueName, opts, false);
  const { Queue } = withBackend(factory);
  const made = new Queue(name, {
    connection: target.url,
    skipMetasUpdate: true,
    streams: { events: { maxLen: settings.maxEvents } },
    defaultJobOptions: jobDefaults(settings),
  });
  made.on("error", createErrorReporter(settings.log, { queue: name, backend: "postgres" }, "the queue's producer failed"));
  return made;
}
