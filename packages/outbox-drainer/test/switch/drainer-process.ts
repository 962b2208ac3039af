// A process that drains: both drainers, the switch between them, and its entry in the register. Its queue takes every job.
// VOTE is its vote. STOP_AT=batch|pull makes it stop itself (SIGSTOP) right before its next claim under that drainer.
import { createEffects } from "@toolctrl/db/after-save-effect";
import { createDatabase } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import type { NewJob } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { runUntilSignal } from "@toolctrl/runtime/run";
import { createAttempts } from "../../src/attempts.ts";
import { createBatchDispatcher } from "../../src/batch-dispatcher.ts";
import { createPullWorkers } from "../../src/pull-workers.ts";
import { registerProcess, type ProcessEntry } from "../../src/registry.ts";
import { createDrainerSwitch } from "../../src/switch.ts";

const { DATABASE_URL = "", VOTE = "false", STOP_AT } = process.env;
const log = createLogger({ app: "drainer", level: "warn" });
const SETTINGS = { intervalMs: 30, parallelism: 2, leaseMs: 1500, lockTimeoutMs: 500, maxRetries: 6, crashBudget: 50, batchSize: 5 };

void runUntilSignal(
  async (scope) => {
    const database = await createDatabase({ url: DATABASE_URL, poolMax: 6, app: "drainer", wakeup: false });
    scope.add("database", database);
    const { pool } = database;
    const entry = { app: "drainer", drains: true, queueBackend: "redis", queuePrefix: "{t}", queues: [], blockers: [] };
    const registered = scope.add("registry", await registerProcess(pool, { ...entry, vote: VOTE as ProcessEntry["vote"] }, log));
    if (STOP_AT !== undefined) stopBeforeClaim(pool, STOP_AT);
    const backend = { addAll: async (jobs: readonly NewJob[]) => jobs.map(() => ({ ok: true as const })), ping: async () => undefined };
    const effects = createEffects([
      {
        name: "mark",
        on: ["record."],
        run: async (tx, event) => void (await tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId") VALUES ($1::uuid)`, event.id)),
      },
    ]);
    const metrics = createMetrics({ processMetrics: false });
    const shared = {
      database,
      pool,
      backend,
      router: createRouter(),
      effects,
      metrics,
      alerts: createAlerts({ app: "drainer", log }),
      log,
      settings: SETTINGS,
    };
    const attempts = createAttempts(shared);
    const drainers = createDrainerSwitch({
      db: pool,
      drainers: { batch: () => createBatchDispatcher({ ...shared, attempts }), pull: () => createPullWorkers({ ...shared, attempts }) },
      checkConditions: () => Promise.resolve({ blockers: [], notes: [] }),
      registered,
      settings: { intervalMs: 100, switchingMs: 30, leaveMs: 1000 },
      metrics,
      log,
    });
    drainers.start();
    scope.add("attempts", { close: () => attempts.close() });
    scope.add("drainers", drainers);
    process.stdout.write("drains\n");
  },
  { graceMs: 8000, log },
);

function stopBeforeClaim(pool: { query: unknown }, mode: string): void {
  const query = pool.query as (this: unknown, ...args: unknown[]) => unknown;
  let stopped = false;
  pool.query = function (...args: unknown[]) {
    const text = typeof args[0] === "string" ? args[0] : "";
    const claims = text.includes("FOR SHARE") && text.includes(`"mode" = '${mode}'`) && text.includes(`"attempts" = e."attempts" + 1`);
    if (claims && !stopped) {
      stopped = true;
      process.stdout.write("about to claim\n");
      process.kill(process.pid, "SIGSTOP");
      process.stdout.write("resumed\n");
    }
    return query.apply(this, args);
  };
}
