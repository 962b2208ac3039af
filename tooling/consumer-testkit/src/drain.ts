import { createEffects, type AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { createRouter } from "@toolctrl/event-router/router";
import { createPullWorkers, type PullWorkers, type PullWorkersDeps } from "@toolctrl/outbox-drainer/pull-workers";
import { createAlerts } from "@toolctrl/runtime/alerts";
import type { Installation } from "./installation.ts";

/** Long enough for whoever holds a lock in a test, and for a lease to end only when it is let. */
export const DRAINER_SETTINGS = { parallelism: 2, intervalMs: 1000, leaseMs: 60_000, lockTimeoutMs: 30_000, maxRetries: 6, crashBudget: 6 };

/** A pull worker that is told when to look; the mode row is to say `pull`. */
export function openDrainer(
  deps: Pick<PullWorkersDeps, "database" | "backend" | "metrics" | "log">,
  afterSaveEffects: readonly AfterSaveEffect[],
): PullWorkers {
  return createPullWorkers({
    ...deps,
    router: createRouter(),
    effects: createEffects(afterSaveEffects),
    settings: DRAINER_SETTINGS,
    alerts: createAlerts({ app: "test", log: deps.log }),
  });
}

/** Lets pull workers drain the installation. */
export async function setPullMode({ database }: Installation): Promise<void> {
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
}

/** Attempts every event that is there, one after the other. */
export async function drain(installation: Installation, afterSaveEffects: readonly AfterSaveEffect[]): Promise<void> {
  const drainer = openDrainer(installation, afterSaveEffects);
  while ((await drainer.runOnce()) !== null);
  await drainer.close(10_000);
}
