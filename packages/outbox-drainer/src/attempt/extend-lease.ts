import type { Queryable } from "@toolctrl/db/sql";

/** Prolongs a claim, counted from now by the database's clock. Fenced. Lock: the event's row. Index: the primary key. */
const EXTEND = `UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() + $3::float8 * interval '1 millisecond'
WHERE "id" = $1::uuid AND "lockToken" = $2::uuid AND "status" = 'PROCESSING'`;

/** @returns false when the claim is no longer ours. */
export async function extendLease(
  db: Queryable,
  claim: { readonly id: string; readonly lockToken: string },
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(EXTEND, [claim.id, claim.lockToken, leaseMs]);
  return rowCount === 1;
}
