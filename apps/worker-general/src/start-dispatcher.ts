import type { Database } from "@toolctrl/db/client";
import { listenForWakeups } from "@toolctrl/db/wakeup";
import type { Router } from "@toolctrl/event-router/router";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Closable } from "@toolctrl/runtime/run";
import type { WorkerGeneralEnv } from "./env.ts";

export interface DispatcherDeps {
  readonly app: string;
  readonly database: Database;
  readonly router: Router;
  readonly backend: QueueBackend;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly log: Logger;
}

/** Starts the batch dispatcher and the listener that wakes it, as far as their switches are on. */
export async function startDispatcher(env: WorkerGeneralEnv, deps: DispatcherDeps): Promise<Closable> {
  if (!env.OUTBOX_DISPATCHER_ENABLED) {
    deps.log.info("OUTBOX_DISPATCHER_ENABLED is off: this process drains nothing");
    return { close: () => Promise.resolve() };
  }
  const dispatcher = createBatchDispatcher({
    ...deps,
    pool: deps.database.pool,
    settings: {
      intervalMs: env.OUTBOX_DISPATCH_INTERVAL_MS,
      batchSize: env.OUTBOX_DISPATCH_BATCH_SIZE,
      maxRetries: env.OUTBOX_MAX_RETRIES,
      leaseMs: env.OUTBOX_LEASE_MS,
      crashBudget: env.OUTBOX_CRASH_BUDGET,
    },
  });
  const wakeups = env.OUTBOX_WAKEUP
    ? await listenForWakeups({
        url: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
        onWake: () => dispatcher.wake(),
        app: deps.app,
        log: deps.log,
      })
    : null;
  dispatcher.start();
  return {
    async close(graceMs) {
      // Both at once: a listener that hangs must not take the dispatcher's time.
      await Promise.all([wakeups?.close(), dispatcher.close(graceMs)]);
    },
  };
}
