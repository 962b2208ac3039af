import { randomUUID } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";
import type { Router } from "@toolctrl/event-router/router";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { settleExhausted } from "../lines/settle-exhausted.ts";
import { settleWithRetry } from "../settle-with-retry.ts";
import type { Settlement } from "../sql/settle-events.ts";
import { RELEASE_LIMIT, releaseExpired, type Released } from "./release-expired.ts";

export interface ExpiredReleaser {
  /** Releases what has expired, unless that was done less than an interval ago or is being done. */
  releaseNowAndThen(epoch: bigint): Promise<void>;
  release(epoch: bigint): Promise<void>;
}

/** Gives back expired claims; those whose crash budget is spent end in FAILED. */
export function createExpiredReleaser(deps: {
  pool: Queryable;
  router: Router;
  settings: { readonly intervalMs: number; readonly crashBudget: number; readonly leaseMs: number };
  metrics: Metrics;
  log: Logger;
  onDead: (settlement: Settlement, lost: boolean) => void;
}): ExpiredReleaser {
  const { pool, router, settings, metrics, log } = deps;
  const { crashBudget, leaseMs, intervalMs } = settings;
  let notBefore = 0;

  async function release(epoch: bigint): Promise<void> {
    for (let more = true; more;) {
      const released = await releaseExpired(pool, { epoch, crashBudget, leaseMs, lockToken: randomUUID() });
      more = released.length === RELEASE_LIMIT;
      for (const event of released) await settleReleased(event);
    }
  }

  async function settleReleased(event: Released): Promise<void> {
    if (!event.exhausted) {
      metrics.add("outbox_reclaims_total", 1);
      return log.warn({ eventId: event.id, crashes: event.crashes }, "lease expired, event due again");
    }
    const settlement = settleExhausted(event, router);
    const { lost } = await settleWithRetry(pool, [settlement], log);
    deps.onDead(settlement, lost.length > 0);
  }

  return {
    release,
    async releaseNowAndThen(epoch) {
      if (performance.now() < notBefore) return;
      notBefore = performance.now() + intervalMs;
      await release(epoch);
    },
  };
}
