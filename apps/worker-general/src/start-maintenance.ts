import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "@toolctrl/db/client";
import { purgeDeletedRagDocuments } from "@toolctrl/domain/rag";
import { purgeDeletedDocuments } from "@toolctrl/domain/search";
import { createRouter, ROUTES } from "@toolctrl/event-router/router";
import { createReconciler, type Reconciler } from "@toolctrl/outbox-drainer/reconcile";
import { runRetention } from "@toolctrl/outbox-drainer/retention";
import type { JobOutcome, QueueBackend } from "@toolctrl/queue/port";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Closable } from "@toolctrl/runtime/run";
import type { WorkerGeneralEnv } from "./env.ts";
import { countRetention } from "./count-retention.ts";

export const MAINTENANCE_QUEUE = "toolctrl.maintenance";
/** Daily, at a quiet hour in UTC that is not the full hour at which everybody else's jobs start. */
const DAILY = "17 3 * * *";
const RETRY_MS = 10_000;
/** Looking for lost jobs must not wait for a long retention run. */
const CONCURRENCY = 2;

export interface MaintenanceDeps {
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Runs the maintenance jobs. The job scheduler makes each of them once, however many workers there are. */
export function startMaintenance(env: WorkerGeneralEnv, deps: MaintenanceDeps): Closable {
  const { backend, log } = deps;
  const olderThanMs = env.OUTBOX_RECONCILE_INTERVAL_MS;
  const reconciler = createReconciler(
    { pool: deps.database.pool, router: createRouter(), routes: ROUTES, backend },
    { olderThanMs, actor: "worker-general" },
  );
  const tasks: Readonly<Record<string, () => Promise<JobOutcome>>> = {
    "cleanup.run": () => cleanUp(env, deps),
    "reconcile.run": () => reconcile(reconciler, deps),
  };
  const worker = backend.work(
    MAINTENANCE_QUEUE,
    (job) => {
      const task = tasks[job.name];
      if (task !== undefined) return task();
      const error = new Error(`expected one of ${Object.keys(tasks).join(", ")}, got ${job.name}`);
      return Promise.resolve({ kind: "cancel", error });
    },
    { concurrency: CONCURRENCY, onStalled: ({ queue }) => deps.metrics.add("queue_stalled_total", 1, { queue }) },
  );
  const scheduling = keepScheduling(env, backend, log);
  return {
    async close(graceMs) {
      scheduling.stop();
      await worker.close(graceMs);
    },
  };
}

async function cleanUp(env: WorkerGeneralEnv, { database, metrics, log }: MaintenanceDeps): Promise<JobOutcome> {
  const settings = { retentionHours: env.OUTBOX_DONE_RETENTION_HOURS, batchSize: env.OUTBOX_DONE_RETENTION_BATCH_SIZE };
  const report = await runRetention(database.pool, ROUTES, settings, log);
  // After the events: those that are gone now hold nothing back any more.
  const search = await purgeDeletedDocuments(database.pool, settings);
  const rag = await purgeDeletedRagDocuments(database.pool, settings);
  countRetention(metrics, report, { SearchDocument: search.purged, RagDocument: rag.purged });
  log.info({ search, rag }, "what deleted documents had left was purged");
  return { kind: "done", result: { ...report, search, rag } };
}

async function reconcile(reconciler: Reconciler, { metrics, log }: MaintenanceDeps): Promise<JobOutcome> {
  const { looked, underWay, lost } = await reconciler.run();
  const requeued = lost.filter((event) => event.requeued).length;
  metrics.set("outbox_unfinished", underWay);
  metrics.add("outbox_reconciled_total", requeued);
  const eventIds = lost.slice(0, 20).map(({ id }) => id);
  if (lost.length > 0) log.warn({ lost: lost.length, requeued, eventIds }, "the queue had lost jobs; their events were sent out again");
  return { kind: "done", result: { looked, underWay, lost: lost.length, requeued } };
}

/**
 * Not waited for: with the queue away at boot this process still starts, and says so in /readyz. The schedules are made when the queue is back.
 */
function keepScheduling(env: WorkerGeneralEnv, backend: QueueBackend, log: Logger): { stop(): void } {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted && !(await schedule(env, backend, log))) await delay(RETRY_MS, undefined, { signal: stopping.signal });
  };
  // The only rejection is the pause that `stop` cuts short.
  void run().catch(() => undefined);
  return { stop: () => stopping.abort() };
}

async function schedule(env: WorkerGeneralEnv, backend: QueueBackend, log: Logger): Promise<boolean> {
  try {
    await backend.schedule(MAINTENANCE_QUEUE, { schedulerId: "outbox-done-retention", name: "cleanup.run", data: {}, pattern: DAILY });
    const everyMs = env.OUTBOX_RECONCILE_INTERVAL_MS;
    await backend.schedule(MAINTENANCE_QUEUE, { schedulerId: "outbox-reconcile", name: "reconcile.run", data: {}, everyMs });
    return true;
  } catch (error) {
    log.warn({ err: error, retryMs: RETRY_MS }, "could not make the maintenance schedules yet");
    return false;
  }
}
