import { MAX_INLINE_PAYLOAD_BYTES } from "@toolctrl/foundation/json";
import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { CLAIMED_BODY, CLAIMED_COLUMNS, claimedEventColumns, claimedEventsOf, type ClaimedEvent } from "../claimed-event.ts";

export type Reclaim =
  | { readonly kind: "none" }
  | { readonly kind: "claimed"; readonly event: ClaimedEvent }
  | { readonly kind: "dead"; readonly id: string };

const rowSchema = z.object({ status: z.enum(["PROCESSING", "FAILED"]), id: z.string() });

/**
 * Takes over one event whose lease ran out, alone: a payload that kills its process must be found out without costing its neighbours.
 *
 * Only a lease lost while claimed alone counts as a crash; when those reach the budget the event is FAILED.
 * - Lock: the mode row FOR SHARE; one event FOR UPDATE SKIP LOCKED, oldest lease first.
 * - Index: "OutboxEvent_expired_idx". A crash after this statement costs one lease.
 */
const statement = `
WITH mode AS MATERIALIZED (
  SELECT 1 FROM "OutboxMode" WHERE "mode" = 'batch' AND "epoch" = $1 AND "desired" = "mode" FOR SHARE
),
expired AS MATERIALIZED (
  SELECT e."id", e."crashes" + (e."claimMode" <> 'batch')::int AS "crashes" FROM "OutboxEvent" e
  WHERE EXISTS (SELECT 1 FROM mode) AND e."status" = 'PROCESSING' AND e."lockedUntil" <= (SELECT clock_timestamp())
  ORDER BY e."lockedUntil" LIMIT 1
  FOR UPDATE OF e SKIP LOCKED
),
claimed AS (
  UPDATE "OutboxEvent" e
  SET "crashes" = expired."crashes", "updatedAt" = clock_timestamp(),
      "status" = CASE WHEN expired."crashes" >= $2 THEN 'FAILED' ELSE 'PROCESSING' END::"OutboxStatus",
      "lockToken" = CASE WHEN expired."crashes" >= $2 THEN NULL ELSE $4::uuid END,
      "claimMode" = CASE WHEN expired."crashes" >= $2 THEN NULL ELSE 'solo' END,
      "lockedUntil" = CASE WHEN expired."crashes" >= $2 THEN NULL ELSE clock_timestamp() + $3::float8 * interval '1 millisecond' END,
      "attempts" = e."attempts" + CASE WHEN expired."crashes" >= $2 THEN 0 ELSE 1 END,
      "blocksLine" = expired."crashes" < $2,
      "lastErrorCode" = CASE WHEN expired."crashes" >= $2 THEN 'DB.LEASE_LOST' ELSE e."lastErrorCode" END,
      "lastError" = CASE WHEN expired."crashes" >= $2
        THEN 'lease expired: the process died ' || expired."crashes" || ' times while it held this event alone' ELSE e."lastError" END
  FROM expired WHERE e."id" = expired."id"
  RETURNING e."status", ${CLAIMED_COLUMNS}
)
SELECT claimed."status"::text AS "status", ${claimedEventColumns("$5")} FROM claimed CROSS JOIN ${CLAIMED_BODY}`;

export async function reclaimExpiredEvent(
  db: Queryable,
  request: { readonly epoch: bigint; readonly crashBudget: number; readonly leaseMs: number; readonly lockToken: string },
): Promise<Reclaim> {
  const { rows } = await db.query<Record<string, unknown>>(statement, [
    request.epoch,
    request.crashBudget,
    request.leaseMs,
    request.lockToken,
    MAX_INLINE_PAYLOAD_BYTES,
  ]);
  if (rows[0] === undefined) return { kind: "none" };
  const { status, id } = rowSchema.parse(rows[0]);
  if (status === "FAILED") return { kind: "dead", id };
  const [event] = claimedEventsOf(rows);
  return event === undefined ? { kind: "none" } : { kind: "claimed", event };
}
