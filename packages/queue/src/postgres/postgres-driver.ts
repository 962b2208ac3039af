import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { type PostgresConnection, PostgresQueueBackend, withBackend } from "bullmq";
import { timeoutError, unreachableError } from "../classify-error.ts";
import type { BullProcessor, BullQueue, OpenWorker, QueueDriver } from "../driver.ts";
import { createErrorReporter } from "../log.ts";
import { assertQueueName, postgresSchemaOf } from "../names.ts";
import { workerSettings, type QueueSettings } from "../settings.ts";
import { withAdvisoryLock } from "./advisory-lock.ts";
import { openConnection } from "./open-connection.ts";
import { connectWithRetry, type PostgresTarget } from "./postgres-boot.ts";
import { findLiveJobs } from "./find-live-jobs.ts";
import { createPostgresProbe } from "./postgres-probe.ts";
import { createPostgresProducer, type PostgresBackendFactory } from "./postgres-producer.ts";

const WORKER_CONNECTIONS = 4;
const WORKER_QUERY_TIMEOUT_MS = 30_000;

/** BullMQ on Postgres: its tables in a schema named for the prefix, one small pool for all producers, one per worker. */
export function createPostgresDriver(url: string | undefined, settings: QueueSettings): QueueDriver {
  assertDatabaseUrl(url);
  const target: PostgresTarget = { url, schema: postgresSchemaOf(settings.prefix) };
  const reporter = (side: string) => createErrorReporter(settings.log, { side, backend: "postgres" }, "the queue's connection failed");
  const stop = new AbortController();
  const producer = createPostgresProducer(target, settings, reporter("producer"), stop.signal);
  const probe = createPostgresProbe(url, reporter("probe"));
  return {
    kind: "postgres",
    queue: (name): BullQueue => producer.queue(name),
    jobState: (name, jobId) => producer.queue(name).getJobState(jobId),
    findLive: (name, jobIds) => findLiveJobs(producer.queue(name), jobIds),
    isUsable: () => producer.isUsable(),
    untilUsable: (ms) => withDeadline(producer.booting, ms, () => unreachableError(`no connection within ${Math.round(ms)} ms`)),
    describeQueue: (name) => producer.describe(name),
    openWorker: async (name, processor, concurrency, signal) => {
      assertQueueName(name);
      await Promise.race([producer.booting, aborted(signal)]);
      const max = Math.min(WORKER_CONNECTIONS, concurrency + 1);
      const report = reporter("worker");
      const make = () => openConnection(target, { max, timeoutMs: WORKER_QUERY_TIMEOUT_MS }, report);
      const connection = await connectWithRetry(make, report, signal);
      return connection === undefined ? undefined : openPostgresWorker(connection, url, name, processor, concurrency, settings);
    },
    exclusively: (name, run) => withAdvisoryLock(target, name, settings.addTimeoutMs, run),
    ping: () => probe.ping(),
    serverClockMs: () => probe.clockMs(),
    evictionPolicy: () => Promise.resolve({ kind: "known", policy: null }),
    persistence: () => Promise.resolve({ kind: "known", appendOnly: null }),
    serverInfo: () => Promise.resolve({ kind: "known", redis: null }),
    close: async (ms) => {
      stop.abort();
      const ends = [producer.close(), probe.close()];
      await Promise.all(ends.map((end) => withDeadline(end, ms, () => timeoutError("closing", ms)).catch(reporter("producer"))));
    },
  };
}

function openPostgresWorker(
  connection: PostgresConnection,
  url: string,
  name: QueueName,
  processor: BullProcessor,
  concurrency: number,
  settings: QueueSettings,
): OpenWorker {
  const factory: PostgresBackendFactory = (queueName, opts) => new PostgresQueueBackend(connection, queueName, opts, true, queueName);
  const { Worker } = withBackend(factory);
  const worker = new Worker<unknown, unknown>(name, processor, { connection: url, ...workerSettings(settings, concurrency) });
  return { worker, force: () => worker.getBackend().close(true) };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function assertDatabaseUrl(url: string | undefined): asserts url is string {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed !== null && /^postgres(?:ql)?:$/.test(parsed.protocol)) return;
  throw new CodedError("QUEUE.SETTING", "expected a database URL postgres://…, got none or another", { facts: { name: "databaseUrl" } });
}
