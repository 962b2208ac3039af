import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { PostgresConnection, PostgresQueueBackend, withBackend, type BackendFactory, type PostgresConnectionOptions } from "bullmq";
import { timeoutError, unreachableError } from "../classify-error.ts";
import type { BullProcessor, BullQueue, OpenWorker, QueueDriver } from "../driver.ts";
import { createErrorReporter } from "../log.ts";
import { assertQueueName, postgresSchemaOf } from "../names.ts";
import { jobDefaults, workerSettings, type QueueSettings } from "../settings.ts";
import { connectWithRetry, migrateWithRetry, poolConfig, type PostgresTarget } from "./postgres-boot.ts";
import { withAdvisoryLock } from "./advisory-lock.ts";
import { createPostgresProbe } from "./postgres-probe.ts";

const PRODUCER_CONNECTIONS = 4;
const WORKER_CONNECTIONS = 4;
const WORKER_QUERY_TIMEOUT_MS = 30_000;

type Factory = BackendFactory<PostgresQueueBackend, PostgresConnectionOptions>;
type PostgresQueue = InstanceType<ReturnType<typeof withBackend<PostgresQueueBackend, PostgresConnectionOptions>>["Queue"]>;

/** BullMQ on Postgres: its tables in a schema named for the prefix, one small pool for all producers, one per worker. */
export function createPostgresDriver(url: string | undefined, settings: QueueSettings): QueueDriver {
  assertDatabaseUrl(url);
  const target: PostgresTarget = { url, schema: postgresSchemaOf(settings.prefix) };
  const { log, addTimeoutMs } = settings;
  const reporter = (side: string) => createErrorReporter(log, { side, backend: "postgres" }, "the queue's connection failed");
  const report = reporter("producer");
  const stop = new AbortController();
  let producer: PostgresConnection | undefined;
  const booting = migrateWithRetry(target, report, stop.signal).then(async () => {
    producer = await connectWithRetry(() => new PostgresConnection(poolConfig(target, PRODUCER_CONNECTIONS, addTimeoutMs)), report, stop.signal);
  });
  const probe = createPostgresProbe(url, reporter("probe"));
  const queues = new Map<QueueName, PostgresQueue>();

  const queue = (name: QueueName): PostgresQueue => queues.get(name) ?? makeQueue(name);
  const makeQueue = (name: QueueName): PostgresQueue => {
    assertQueueName(name);
    const connection = producer;
    if (connection === undefined) throw unreachableError("no connection so far");
    const { Queue } = withBackend(sharing(connection));
    const made = new Queue(name, { connection: url, skipMetasUpdate: true, streams: { events: { maxLen: settings.maxEvents } }, defaultJobOptions: jobDefaults(settings) });
    made.on("error", createErrorReporter(log, { queue: name, backend: "postgres" }, "the queue's producer failed"));
    queues.set(name, made);
    describeQueue(name).catch(report);
    return made;
  };
  const describeQueue = async (name: QueueName): Promise<void> => {
    await queue(name).getBackend().setQueueMeta(queue(name).metaValues);
  };

  return {
    kind: "postgres",
    queue: (name): BullQueue => queue(name),
    isUsable: () => producer !== undefined,
    untilUsable: (ms) => withDeadline(booting, ms, () => unreachableError(`no connection within ${Math.round(ms)} ms`)),
    describeQueue,
    openWorker: async (name, processor, concurrency, signal) => {
      assertQueueName(name);
      await booting;
      const workerReport = reporter("worker");
      const max = Math.min(WORKER_CONNECTIONS, concurrency + 1);
      const connection = await connectWithRetry(() => new PostgresConnection(poolConfig(target, max, WORKER_QUERY_TIMEOUT_MS)), workerReport, signal);
      return connection === undefined ? undefined : openPostgresWorker(connection, url, name, processor, concurrency, settings);
    },
    exclusively: (name, run) => withAdvisoryLock(target, name, addTimeoutMs, run),
    ping: () => probe.ping(),
    serverClockMs: () => probe.clockMs(),
    close: async (ms) => {
      stop.abort();
      const ends = [...queues.values()].map((each) => each.close());
      if (producer !== undefined) ends.push(producer.close());
      await Promise.all([...ends, probe.close()].map((end) => withDeadline(end, ms, () => timeoutError("closing", ms)).catch(report)));
    },
  };
}

/** Queues that use one connection and leave it open when they close. */
function sharing(connection: PostgresConnection): Factory {
  return (name, opts) => new PostgresQueueBackend(connection, name, opts, false);
}

function openPostgresWorker(
  connection: PostgresConnection,
  url: string,
  name: QueueName,
  processor: BullProcessor,
  concurrency: number,
  settings: QueueSettings,
): OpenWorker {
  const factory: Factory = (queueName, opts) => new PostgresQueueBackend(connection, queueName, opts, true, queueName);
  const { Worker } = withBackend(factory);
  const worker = new Worker<unknown, unknown, string>(name, processor, { connection: url, ...workerSettings(settings, concurrency) });
  return { worker, force: () => worker.getBackend().close(true) };
}

function assertDatabaseUrl(url: string | undefined): asserts url is string {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed !== null && /^postgres(?:ql)?:$/.test(parsed.protocol)) return;
  throw new CodedError("QUEUE.SETTING", "expected a database URL postgres://…, got none or another", { facts: { name: "databaseUrl" } });
}
