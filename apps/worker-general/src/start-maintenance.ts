import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "@toolctrl/db/client";
import { ROUTES } from "@toolctrl/event-router/router";
import { runRetention } from "@toolctrl/outbox-drainer/retention";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Closable } from "@toolctrl/runtime/run";
import type { WorkerGeneralEnv } from "./env.ts";
import { countRetention } from "./count-retention.ts";

export const MAINTENANCE_QUEUE = "toolctrl.maintenance";
/** Daily, at a quiet hour in UTC that is not the full hour at which everybody else's jobs start. */
const DAILY = "17 3 * * *";
const RETRY_MS = 10_000;

export interface MaintenanceDeps {
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

/** Runs the maintenance jobs. The job scheduler makes them once a day, however many workers there are. */
export function startMaintenance(env: WorkerGeneralEnv, deps: MaintenanceDeps): Closable {
  const { database, backend, log, metrics } = deps;
  const worker = backend.work(
    MAINTENANCE_QUEUE,
    async (job) => {
      if (job.name !== "cleanup.run") return { kind: "cancel", error: new Error(`expected the job cleanup.run, got ${job.name}`) };
      const settings = { retentionHours: env.OUTBOX_DONE_RETENTION_HOURS, batchSize: env.OUTBOX_DONE_RETENTION_BATCH_SIZE };
      const report = await runRetention(database.pool, ROUTES, settings, log);
      if (metrics !== undefined) countRetention(metrics, report);
      return { kind: "done", result: report };
    },
    { concurrency: 1 },
  );
  const scheduling = keepScheduling(backend, log);
  return {
    async close(graceMs) {
      scheduling.stop();
      await worker.close(graceMs);
    },
  };
}

/**
 * Not waited for: with the queue away at boot this process still starts, and says so in /readyz. The schedule is made when the queue is back.
 */
function keepScheduling(backend: QueueBackend, log: Logger): { stop(): void } {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted && !(await schedule(backend, log))) await delay(RETRY_MS, undefined, { signal: stopping.signal });
  };
  // The only rejection is the pause that `stop` cuts short.
  void run().catch(() => undefined);
  return { stop: () => stopping.abort() };
}

async function schedule(backend: QueueBackend, log: Logger): Promise<boolean> {
  try {
    await backend.schedule(MAINTENANCE_QUEUE, { schedulerId: "outbox-done-retention", name: "cleanup.run", data: {}, pattern: DAILY });
    return true;
  } catch (error) {
    log.warn({ err: error, retryMs: RETRY_MS }, "could not schedule outbox-done-retention yet");
    return false;
  }
}
