import { MAX_INLINE_PAYLOAD_BYTES } from "@toolctrl/foundation/json";
import type { Queryable } from "@toolctrl/db/sql";
import { CLAIMED_BODY, claimedColumns, claimedEventColumns, claimedEventsOf, type ClaimedEvent } from "../claimed-event.ts";

/** `exhausted`: claimed as well, for its settlement as dead alone; its crash budget is spent. */
export type Reclaim = { readonly kind: "none" } | { readonly kind: "claimed" | "exhausted"; readonly event: ClaimedEvent };

/**
 * Takes over one event whose lease ran out, alone: a payload that kills its process must be found out without costing its neighbours.
 *
 * Only a lease lost while claimed alone counts as a crash. An event whose crashes reach the budget is claimed once more, which is not
 * counted, and settled as dead by its claimer: whether it then holds its line is the route's business, which SQL does not know.
 * - Lock: the mode row FOR SHARE; one event FOR UPDATE SKIP LOCKED, oldest lease first.
 * - Index: "OutboxEvent_expired_idx". A crash after this statement costs one lease.
 */
const statement = (keyed: boolean): string => `
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
  SET "crashes" = expired."crashes", "lockToken" = $4::uuid, "claimMode" = 'solo',
      "lockedUntil" = clock_timestamp() + $3::float8 * interval '1 millisecond', "updatedAt" = clock_timestamp(),
      "attempts" = e."attempts" + (expired."crashes" < $2)::int
  FROM expired WHERE e."id" = expired."id"
  RETURNING ${claimedColumns(keyed)}
)
SELECT ${claimedEventColumns("$5")} FROM claimed CROSS JOIN ${CLAIMED_BODY}`;
const KEYED = statement(true);
const UNKEYED = statement(false);

export async function reclaimExpiredEvent(
  db: Queryable,
  request: {
    readonly epoch: bigint;
    readonly crashBudget: number;
    readonly leaseMs: number;
    readonly lockToken: string;
    readonly keyed?: boolean;
  },
): Promise<Reclaim> {
  const { rows } = await db.query<Record<string, unknown>>(request.keyed === false ? UNKEYED : KEYED, [
    request.epoch,
    request.crashBudget,
    request.leaseMs,
    request.lockToken,
    MAX_INLINE_PAYLOAD_BYTES,
  ]);
  const [event] = claimedEventsOf(rows);
  return event === undefined ? { kind: "none" } : { kind: event.crashes >= request.crashBudget ? "exhausted" : "claimed", event };
}
