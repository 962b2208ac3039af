import type { Database } from "@toolctrl/db/client";
import { ROUTES } from "@toolctrl/event-router/router";
import { runRetention } from "@toolctrl/outbox-drainer/retention";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Closable } from "@toolctrl/runtime/run";
import type { WorkerGeneralEnv } from "./env.ts";

const QUEUE = "toolctrl.maintenance";
/** Daily, at a quiet hour in UTC that is not the full hour at which everybody else's jobs start. */
const DAILY = "17 3 * * *";

/** Runs the maintenance jobs. The job scheduler makes them once a day, however many workers there are. */
export async function startMaintenance(
  env: WorkerGeneralEnv,
  deps: { database: Database; backend: QueueBackend; log: Logger },
): Promise<Closable> {
  const { database, backend, log } = deps;
  const worker = backend.work(
    QUEUE,
    async (job) => {
      if (job.name !== "cleanup.run") return { kind: "cancel", error: new Error(`expected the job cleanup.run, got ${job.name}`) };
      const settings = { retentionHours: env.OUTBOX_DONE_RETENTION_HOURS, batchSize: env.OUTBOX_DONE_RETENTION_BATCH_SIZE };
      return { kind: "done", result: await runRetention(database.pool, ROUTES, settings, log) };
    },
    { concurrency: 1 },
  );
  // Not waited for: with the queue away at boot this process still starts, drains nothing, and says so in /readyz.
  void scheduleRetention(backend, log);
  return worker;
}

async function scheduleRetention(backend: QueueBackend, log: Logger): Promise<void> {
  try {
    await backend.schedule(QUEUE, { schedulerId: "outbox-done-retention", name: "cleanup.run", data: {}, pattern: DAILY });
  } catch (error) {
    log.error({ err: error }, "could not schedule outbox-done-retention; the next start of any worker-general tries again");
  }
}
