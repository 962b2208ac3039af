import type { EffectsOf } from "@toolctrl/db/after-save-effect";
import type { Database } from "@toolctrl/db/client";
import { listenForWakeups } from "@toolctrl/db/wakeup";
import type { Router } from "@toolctrl/event-router/router";
import { createAttempts, type Attempts } from "@toolctrl/outbox-drainer/attempts";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createHeldRelease, createHoldOf, type HeldBy } from "@toolctrl/outbox-drainer/held";
import { createPullWorkers } from "@toolctrl/outbox-drainer/pull-workers";
import type { RegisteredProcess } from "@toolctrl/outbox-drainer/registry";
import { createDrainerSwitch, createShadow, type ConditionCheck, type DrainerFactories } from "@toolctrl/outbox-drainer/switch";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Closable } from "@toolctrl/runtime/run";
import type { WorkerGeneralEnv } from "./env.ts";

export interface DrainerDeps {
  readonly app: string;
  readonly database: Database;
  readonly router: Router;
  readonly effects: EffectsOf;
  /** Which routes pull workers hold. */
  readonly heldBy: HeldBy;
  readonly backend: QueueBackend;
  readonly checkConditions: ConditionCheck;
  readonly registered: RegisteredProcess;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly log: Logger;
}

/** This process's part in draining. */
export interface DrainerOfProcess {
  /** For `/readyz`: which drainer runs, and what speaks against the other one. */
  details(): Readonly<Record<string, unknown>>;
  /** Starts the drainer that the mode row names, and the listener that wakes it. */
  start(): Promise<Closable>;
}

/** Time a drainer that is switched off gets to end what it has claimed; its claims are then no longer prolonged, ms. */
const LEAVE_MS = 30_000;

/** Both drainers and the switch between them, as far as OUTBOX_DISPATCHER_ENABLED is on. */
export function createDrainer(env: WorkerGeneralEnv, deps: DrainerDeps): DrainerOfProcess {
  const { database, log } = deps;
  if (!env.OUTBOX_DISPATCHER_ENABLED) return drainsNothing(log);
  const attempts = createAttempts({ ...deps, settings: settingsOf(env) });
  const { pool } = database;
  const holdOf = createHoldOf(deps.router, deps.heldBy);
  const drainers = createDrainerSwitch({
    ...deps,
    db: pool,
    drainers: factoriesOf(env, deps, attempts),
    shadow: env.OUTBOX_PULL_WORKER === "shadow" ? createShadow({ ...deps, db: pool, holdOf }) : null,
    settings: { leaveMs: LEAVE_MS },
  });
  const release = createHeldRelease({ db: pool, holdOf, wake: drainers.wake, log });
  return {
    details: drainers.details,
    async start() {
      const wakeups = env.OUTBOX_WAKEUP
        ? await listenForWakeups({ url: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL, onWake: drainers.wake, app: deps.app, log })
        : null;
      drainers.start();
      release.start();
      return {
        async close(graceMs) {
          try {
            // All at once: a listener that hangs must not take the drainer's time.
            await Promise.all([wakeups?.close(), drainers.close(graceMs), release.close(graceMs)]);
          } finally {
            await attempts.close();
          }
        },
      };
    },
  };
}

function drainsNothing(log: Logger): DrainerOfProcess {
  return {
    details: () => ({ drainer: { running: null, why: "OUTBOX_DISPATCHER_ENABLED is off" } }),
    start() {
      log.info("OUTBOX_DISPATCHER_ENABLED is off: this process drains nothing");
      return Promise.resolve({ close: () => Promise.resolve() });
    },
  };
}

function factoriesOf(env: WorkerGeneralEnv, deps: DrainerDeps, attempts: Attempts): DrainerFactories {
  const settings = settingsOf(env);
  return {
    batch: () =>
      createBatchDispatcher({
        ...deps,
        pool: deps.database.pool,
        attempts,
        settings: { ...settings, batchSize: env.OUTBOX_DISPATCH_BATCH_SIZE },
      }),
    pull: () => createPullWorkers({ ...deps, attempts, settings }),
  };
}

function settingsOf(env: WorkerGeneralEnv) {
  return {
    intervalMs: env.OUTBOX_DISPATCH_INTERVAL_MS,
    parallelism: env.OUTBOX_PULL_PARALLELISM,
    maxRetries: env.OUTBOX_MAX_RETRIES,
    leaseMs: env.OUTBOX_LEASE_MS,
    lockTimeoutMs: env.OUTBOX_LOCK_TIMEOUT_MS,
    crashBudget: env.OUTBOX_CRASH_BUDGET,
  };
}
