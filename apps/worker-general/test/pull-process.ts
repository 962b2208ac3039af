// A process of pull workers with the product's after-save effects, until a signal ends it. Its queue takes no job.
// Leases and the limit of idle transactions are short, so that a test can outlive them; the lock time-out is the product's default.
import { createEffects, type AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { createDatabase } from "@toolctrl/db/client";
import { afterSaveEffects } from "@toolctrl/domain/after-save-effects";
import { createRouter } from "@toolctrl/event-router/router";
import { createPullWorkers } from "@toolctrl/outbox-drainer/pull-workers";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal } from "@toolctrl/runtime/run";

const { DATABASE_URL = "", PARALLELISM = "4", TOUCH_PARENTS } = process.env;
const parallelism = Number(PARALLELISM);
const log = createLogger({ app: "pull", level: "info" });

/** What an effect does that knows nothing of cascades: it waits for the row above for as long as its lock time-out allows. */
const touchParent: AfterSaveEffect = {
  name: "touch-parent",
  on: ["record."],
  async run(tx, event) {
    const { after } = event.payload as { after?: { parentId?: string | null } };
    await tx.$executeRawUnsafe(`UPDATE "Row" SET "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`, after?.parentId ?? null);
  },
};

void runUntilSignal(
  async (scope) => {
    const database = await createDatabase({ url: DATABASE_URL, poolMax: parallelism + 3, app: "pull", wakeup: false, log });
    scope.add("database", database);
    const workers = createPullWorkers({
      database,
      router: createRouter(),
      effects: createEffects([...(TOUCH_PARENTS === undefined ? [] : [touchParent]), ...afterSaveEffects()]),
      backend: { addAll: () => Promise.reject(new Error("expected no hand-off, got one")) },
      settings: {
        parallelism,
        intervalMs: 50,
        leaseMs: 1_500,
        lockTimeoutMs: 2_000,
        idleInTransactionMs: 3_000,
        maxRetries: 6,
        crashBudget: 100,
      },
      metrics: createMetrics({ processMetrics: false }),
      alerts: createAlerts({ app: "pull", log }),
      log,
    });
    workers.start();
    scope.add("workers", workers);
    process.stdout.write("drains\n");
  },
  { graceMs: 10_000, log },
);
