// A process of pull workers whose one effect appends to a table what it saw, until a signal ends it.
import { createEffects } from "@toolctrl/db/after-save-effect";
import { createDatabase } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal } from "@toolctrl/runtime/run";
import { createPullWorkers } from "../../src/pull-workers.ts";

const APPEND = `INSERT INTO "Effect" ("record", "turn", "position") SELECT p ->> 'recordId', (p ->> 'turn')::int, $2::bigint FROM (SELECT $1::jsonb AS p) x`;
const log = createLogger({ app: "order", level: "warn" });

void runUntilSignal(
  async (scope) => {
    const database = await createDatabase({ url: process.env["DATABASE_URL"] ?? "", poolMax: 6, app: "order", wakeup: false, log });
    scope.add("database", database);
    const append = {
      name: "append",
      on: ["record."],
      run: async (tx, event) => void (await tx.$executeRawUnsafe(APPEND, JSON.stringify(event.payload), event.position)),
    } satisfies Parameters<typeof createEffects>[0][number];
    const workers = createPullWorkers({
      database,
      router: createRouter(),
      effects: createEffects([append]),
      backend: { addAll: () => Promise.reject(new Error("expected no hand-off, got one")) },
      // Short, so that the lines of the killed go on soon; the crash budget is not what is tested.
      settings: { parallelism: 3, intervalMs: 100, leaseMs: 1_500, lockTimeoutMs: 2_000, maxRetries: 6, crashBudget: 100 },
      metrics: createMetrics({ processMetrics: false }),
      alerts: createAlerts({ app: "order", log }),
      log,
    });
    workers.start();
    scope.add("workers", workers);
    process.stdout.write("drains\n");
  },
  { graceMs: 10_000, log },
);
