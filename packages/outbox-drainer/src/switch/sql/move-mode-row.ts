import type { Queryable } from "@toolctrl/db/sql";
import type { DrainerMode } from "../../sql/read-mode.ts";

/** A live process that votes against pull workers, or that something keeps from running them; the rule of `decideMode`. */
const OBJECTION = `SELECT 1 FROM "OutboxDrainer" d WHERE d."drains" AND d."aliveUntil" > (SELECT clock_timestamp())
  AND (d."vote" <> 'true' OR to_jsonb(d) -> 'blockers' IS DISTINCT FROM '[]'::jsonb)`;
const ANYBODY = `SELECT 1 FROM "OutboxDrainer" d WHERE d."drains" AND d."aliveUntil" > (SELECT clock_timestamp())`;

/**
 * Turns the wish, if the row is still that of `epoch` and the register still asks for it. From its commit on nobody claims: a claim asks
 * for `desired = mode` under its own epoch. Waits for the claim statements that hold the row FOR SHARE, so every claim of before is
 * visible afterwards.
 *
 * One statement on its own: a transaction of several would keep the row locked against every claim while its process is paused.
 * Lock: the mode row. @returns whether it was turned by this call.
 */
export async function setDesired(db: Queryable, desired: DrainerMode["desired"], epoch: bigint): Promise<boolean> {
  const asked = desired === "pull" ? `EXISTS (${ANYBODY}) AND NOT EXISTS (${OBJECTION})` : `EXISTS (${OBJECTION})`;
  const { rowCount } = await db.query(
    `UPDATE "OutboxMode" SET "desired" = $1, "epoch" = "epoch" + 1, "updatedAt" = clock_timestamp()
      WHERE "id" = 1 AND "epoch" = $2 AND "desired" <> $1 AND ${asked}`,
    [desired, epoch],
  );
  return rowCount === 1;
}

/**
 * Lets the desired drainer claim, once no claim of the one before can still be at work: each is settled, or its lease is over. No claim
 * can begin while this looks, as nobody may claim before it is done. Claims do not name their epoch, and need not: all there are, are old.
 *
 * Lock: the mode row. Index: "OutboxEvent_expired_idx". @returns whether the mode was turned by this call.
 */
export async function completeSwitch(db: Queryable, epoch: bigint): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE "OutboxMode" SET "mode" = "desired", "epoch" = "epoch" + 1, "updatedAt" = clock_timestamp()
      WHERE "id" = 1 AND "epoch" = $1 AND "mode" <> "desired" AND NOT EXISTS (
        SELECT 1 FROM "OutboxEvent" WHERE "status" = 'PROCESSING' AND "lockedUntil" > (SELECT clock_timestamp()))`,
    [epoch],
  );
  return rowCount === 1;
}
