import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "@toolctrl/db/sql";
import { describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import { settleEvents, type Settlement } from "./sql/settle-events.ts";

const PAUSES_MS = [100, 300, 1_000, 3_000, 5_000];

/**
 * Settles, and tries again while the database is away for a moment: an unsettled claim is safe, but waits for its lease.
 * @returns the ids whose lease was lost (after a repeated try also those that the first one settled before its answer was lost).
 * @throws the last error, when the database stays away; the events then wait for their lease.
 */
export async function settleWithRetry(
  db: Queryable,
  settlements: readonly Settlement[],
  log: Logger,
): Promise<{ lost: string[]; repeated: boolean }> {
  for (let tries = 0; ; tries += 1) {
    try {
      const settled = await settleEvents(db, settlements);
      return { lost: settlements.filter((s) => !settled.has(s.id)).map((s) => s.id), repeated: tries > 0 };
    } catch (error) {
      const pause = PAUSES_MS[tries];
      if (pause === undefined) throw error;
      log.warn({ error: describeError(error), events: settlements.length }, "settling failed, trying again");
      await delay(pause);
    }
  }
}
