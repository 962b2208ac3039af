import type { Queryable } from "@toolctrl/db/sql";
import type { ClaimedEvent } from "../claimed-event.ts";

/**
 * Gives back claims of one fence with which nothing was begun: their events are due as they were before, and nothing is counted. A claim
 * that is no longer ours is left as it is. All of a line in one statement: nobody claims a younger event of it before the older ones.
 *
 * Lock: each event's row. Index: the primary key. Order: none. A crash before it costs the rest of the lease.
 */
const RELEASE = `UPDATE "OutboxEvent"
SET "status" = 'PENDING', "lockedUntil" = NULL, "lockToken" = NULL, "claimMode" = NULL, "updatedAt" = clock_timestamp()
WHERE "id" = ANY ($1::uuid[]) AND "status" = 'PROCESSING' AND "lockToken" = $2::uuid`;

export async function releaseClaims(db: Queryable, claims: readonly Pick<ClaimedEvent, "id" | "lockToken">[]): Promise<void> {
  const [first] = claims;
  if (first === undefined) return;
  await db.query(RELEASE, [claims.map((claim) => claim.id), first.lockToken]);
}
