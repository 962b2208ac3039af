import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createRouter, type Router } from "@toolctrl/event-router/router";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { cancelEvents, requeueEvents, skipEvents } from "../../src/actions.ts";
import { judgeFailure } from "../../src/attempt/judge-failure.ts";
import { LOCK_NOT_AVAILABLE } from "@toolctrl/db/client";
import type { ClaimedEvent } from "../../src/claimed-event.ts";
import { claimHead } from "../../src/pull/claim-head.ts";
import { createExpiredReleaser } from "../../src/pull/expired-releaser.ts";
import { settleEvents, type Settlement } from "../../src/sql/settle-events.ts";
import { violatedConstraint } from "@toolctrl/db/client";
import { silentLog } from "../support.ts";

export type DeadHead = "continue" | "park";

/** Small budgets, so that a short play reaches them. */
export const MAX_RETRIES = 1;
export const CRASH_BUDGET = 2;

/** How an attempt ends. */
export type Ending = "done" | "fails" | "lock time-out";

/** The moves of drainers and operators on one database, each one call of the product; everything is due at once. */
export interface LinePlayer {
  publish(record: string): Promise<string>;
  /** Gives back what has expired, then claims, as each loop does. */
  claim(): Promise<ClaimedEvent | null>;
  /** @returns whether the claim was still its claimer's. */
  settle(event: ClaimedEvent, ending: Ending): Promise<boolean>;
  /** The process that holds this claim is silent until the lease is over. */
  loseLease(event: ClaimedEvent): Promise<void>;
  /** @returns whether the event was in a state for it. */
  operate(action: "requeue" | "skip" | "cancel", id: string): Promise<boolean>;
}

export function createLinePlayer(database: Database, deadHead: DeadHead): LinePlayer {
  const { pool } = database;
  const router: Router = createRouter([{ prefix: "record.", target: "database", consumers: [], deadHead }]);
  const leaseMs = 600_000;
  const releaser = createExpiredReleaser({
    pool,
    router,
    settings: { intervalMs: 0, crashBudget: CRASH_BUDGET, leaseMs },
    metrics: createMetrics({ processMetrics: false }),
    log: silentLog,
    onDead: () => undefined,
  });

  async function claim(): Promise<ClaimedEvent | null> {
    await releaser.release(1n);
    for (;;) {
      try {
        const claimed = await claimHead(pool, { epoch: 1n, leaseMs, lockToken: randomUUID(), afterTenant: "", afterKeys: {} });
        return claimed.kind === "claimed" ? claimed.event : null;
      } catch (error) {
        if (violatedConstraint(error) !== "OutboxEvent_in_flight_key") throw error;
      }
    }
  }

  return {
    claim,
    async publish(record) {
      const payload = { object: "Lead", recordId: record };
      const event = { tenantId: "acme", type: "record.lead.updated", payload };
      return (await database.prisma.$transaction((tx) => publishOutboxEvent(tx, event))).id;
    },
    async settle(event, ending) {
      const settled = await settleEvents(pool, [settlementOf(event, ending, deadHead)]);
      return settled.has(event.id);
    },
    async loseLease({ id, lockToken }) {
      const past = `UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "id" = $1 AND "lockToken" = $2`;
      await pool.query(past, [id, lockToken]);
    },
    async operate(action, id) {
      const request = { ids: [id], actor: "test" };
      const act = {
        requeue: () => requeueEvents({ pool, router }, request),
        skip: () => skipEvents({ pool }, request),
        cancel: () => cancelEvents({ pool }, request),
      };
      const { events } = await act[action]();
      return events.every(({ outcome }) => outcome !== "refused" && outcome !== "not-found");
    },
  };
}

/** What the product judges, due at once. */
function settlementOf(event: ClaimedEvent, ending: Ending, deadHead: DeadHead): Settlement {
  if (ending === "done") return { id: event.id, lockToken: event.lockToken, outcome: "done" };
  const error = ending === "fails" ? new Error("fails") : Object.assign(new Error("lock"), { code: LOCK_NOT_AVAILABLE });
  const judged = judgeFailure(event, error, { maxRetries: MAX_RETRIES, parks: deadHead === "park" });
  return "delayMs" in judged ? { ...judged, delayMs: 0 } : judged;
}
