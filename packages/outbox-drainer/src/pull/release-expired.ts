import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

/** `exhausted`: still claimed, under our fence, for its settlement as dead alone: its crash budget is spent. */
export interface Released {
  readonly id: string;
  readonly lockToken: string;
  readonly eventType: string;
  readonly crashes: number;
  readonly exhausted: boolean;
}

const rowSchema = z.object({ id: z.string(), lockToken: z.string().nullable(), eventType: z.string(), crashes: z.number() });

/** Rows of one statement. */
export const RELEASE_LIMIT = 100;

/**
 * Gives back claims whose lease ran out, whichever drainer made them: they are due again and are claimed alone, heads first, like every
 * other event. So an expired head is never kept waiting by its follower, nor the other way round.
 *
 * - A lease lost while claimed alone counts as a crash. One whose crashes reach the budget is taken over instead, and settled by the
 *   caller: whether it then holds its line is the route's business.
 * - Lock: the mode row FOR SHARE; the events FOR UPDATE SKIP LOCKED, oldest lease first. Index: "OutboxEvent_expired_idx".
 * - "claimMode" of a taken-over row stays, so that the unique index of lines in flight sees nothing new. A crash here costs nothing.
 */
const statement = `
WITH mode AS MATERIALIZED (
  SELECT 1 FROM "OutboxMode" WHERE "mode" = 'pull' AND "epoch" = $1 AND "desired" = "mode" FOR SHARE
),
expired AS MATERIALIZED (
  SELECT e."id", e."crashes" + (e."claimMode" <> 'batch')::int AS "crashes", e."claimMode" <> 'batch' AND e."crashes" + 1 >= $2 AS "exhausted"
  FROM "OutboxEvent" e
  WHERE EXISTS (SELECT 1 FROM mode) AND e."status" = 'PROCESSING' AND e."lockedUntil" <= (SELECT clock_timestamp())
  ORDER BY e."lockedUntil" LIMIT ${RELEASE_LIMIT}
  FOR UPDATE OF e SKIP LOCKED
)
UPDATE "OutboxEvent" e
SET "crashes" = expired."crashes", "updatedAt" = clock_timestamp(),
    "status" = CASE WHEN expired."exhausted" THEN 'PROCESSING' ELSE 'PENDING' END::"OutboxStatus",
    "lockToken" = CASE WHEN expired."exhausted" THEN $4::uuid END,
    "claimMode" = CASE WHEN expired."exhausted" THEN e."claimMode" END,
    "lockedUntil" = CASE WHEN expired."exhausted" THEN clock_timestamp() + $3::float8 * interval '1 millisecond' END
FROM expired WHERE e."id" = expired."id"
RETURNING e."id", e."lockToken", e."eventType", e."crashes"`;

export async function releaseExpired(
  db: Queryable,
  request: { readonly epoch: bigint; readonly crashBudget: number; readonly leaseMs: number; readonly lockToken: string },
): Promise<Released[]> {
  const { epoch, crashBudget, leaseMs, lockToken } = request;
  const { rows } = await db.query<Record<string, unknown>>(statement, [epoch, crashBudget, leaseMs, lockToken]);
  return z
    .array(rowSchema)
    .parse(rows)
    .map((row) => ({ ...row, lockToken, exhausted: row.lockToken !== null }));
}
