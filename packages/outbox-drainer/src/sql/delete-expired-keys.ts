import type { Queryable } from "@toolctrl/db/sql";

/**
 * Deletes one batch of idempotency keys that ran out, oldest first ("IdempotencyKey_expiresAt_idx"), SKIP LOCKED.
 * @returns the number of keys deleted.
 */
export async function deleteExpiredKeys(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `WITH old AS MATERIALIZED (
       SELECT "key" FROM "IdempotencyKey" WHERE "expiresAt" < (SELECT clock_timestamp())
       ORDER BY "expiresAt" LIMIT $1 FOR UPDATE SKIP LOCKED
     )
     DELETE FROM "IdempotencyKey" k USING old WHERE k."key" = old."key" AND k."expiresAt" < clock_timestamp()`,
    [limit],
  );
  return rowCount ?? 0;
}
