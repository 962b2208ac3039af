import type { Queryable } from "@toolctrl/db/sql";

/** Takes a key out of use for good, from the commit on. False when the tenant has no such key in use. Index: the primary key. */
export async function revokeApiKey(tx: Queryable, { tenantId, id }: { readonly tenantId: string; readonly id: string }): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE "ApiKey" SET "revokedAt" = clock_timestamp() WHERE "id" = $1::uuid AND "tenantId" = $2 AND "revokedAt" IS NULL`,
    [id, tenantId],
  );
  return rowCount === 1;
}
