import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { createDatabase } from "@toolctrl/db/client";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { hostLanes } from "@toolctrl/testkit/lane-host";
import { openDrainer } from "./drain.ts";

/**
 * Runs pull workers in lanes, for a test that has a channel to the process: each attempts every event that is there when it is told to,
 * one after the other. For the main file of a child process.
 */
export function runOneDrainer(afterSaveEffects: readonly AfterSaveEffect[]): void {
  const log = createLogger({ app: "one-drainer", level: "warn" });
  hostLanes(async ({ DATABASE_URL = "", REDIS_URL = "", QUEUE_PREFIX = "" }) => {
    const database = await createDatabase({ url: DATABASE_URL, poolMax: 4, app: "one-drainer", wakeup: false, log });
    const backend = await createQueueBackend({ kind: "redis", redisUrl: REDIS_URL, prefix: QUEUE_PREFIX, attempts: 3, backoffMs: 10, log });
    const drainer = openDrainer({ database, backend, metrics: createMetrics({ processMetrics: false }), log }, afterSaveEffects);
    let attempts = Promise.resolve();
    const attemptAll = async (): Promise<void> => {
      while ((await drainer.runOnce()) !== null);
    };
    return {
      go: () => (attempts = attemptAll()),
      async close() {
        await attempts;
        await drainer.close(10_000);
        await backend.close(10_000);
        await database.close(10_000);
      },
    };
  });
}
