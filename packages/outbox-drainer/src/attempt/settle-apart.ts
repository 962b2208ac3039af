import type { Queryable } from "@toolctrl/db/sql";
import { describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import { z } from "zod";
import type { ClaimedEvent } from "../claimed-event.ts";
import { settleWithRetry } from "../settle-with-retry.ts";
import { STATUS_AFTER, type Settlement } from "../sql/settle-events.ts";
import type { Settled } from "./settled.ts";

const rowSchema = z.object({ status: z.string(), attempts: z.number(), crashes: z.number(), putOff: z.boolean() });

/**
 * The bookkeeping of an attempt whose transaction failed, on the heartbeat's connections and while it still protects the claim.
 *
 * The fence resolves an unknown commit: a transaction that did commit, or is about to, has the row; then this changes nothing, and the
 * row says how it ended.
 */
export async function settleApart(db: Queryable, event: ClaimedEvent, settlement: Settlement, log: Logger): Promise<Settled> {
  try {
    const { lost } = await settleWithRetry(db, [settlement], log);
    if (lost.length === 0) return { settlement, fate: "kept" };
    return await readEnd(db, event, settlement);
  } catch (error) {
    log.error({ eventId: event.id, error: describeError(error) }, "an attempt could not be settled; its event waits for the lease");
    return { settlement, fate: "unsettled" };
  }
}

/**
 * Nobody claimed the event after us, and it is as a settlement of ours leaves it: so it was we who settled it. Somebody else who ends a claim
 * that has run out makes its event due, or gives it up as crashed.
 */
async function readEnd(db: Queryable, event: ClaimedEvent, settlement: Settlement): Promise<Settled> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT "status"::text AS "status", "attempts", "crashes", "scheduledAt" > "updatedAt" AS "putOff" FROM "OutboxEvent" WHERE "id" = $1`,
    [event.id],
  );
  const row = rowSchema.safeParse(rows[0]).data;
  if (row === undefined || row.attempts !== event.attempts || row.crashes !== event.crashes) return { settlement, fate: "lost" };
  if (row.status === "DONE") return { settlement: { id: event.id, lockToken: event.lockToken, outcome: "done" }, fate: "kept" };
  const asWeLeaveIt = row.status === STATUS_AFTER[settlement.outcome] && (row.status !== "PENDING" || row.putOff);
  return { settlement, fate: asWeLeaveIt ? "kept" : "lost" };
}
