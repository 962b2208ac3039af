import type { Queryable } from "@toolctrl/db/sql";
import { hashOfKey } from "./hash-of-key.ts";

/** A key that counts, and whose it is. */
export interface ApiKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
}

/** Whose key it is; null for one that never was, or was revoked. Index: `ApiKey_hash_key`. */
export async function findApiKey(db: Queryable, key: string): Promise<ApiKey | null> {
  const { rows } = await db.query<ApiKey>(
    `SELECT "id"::text AS "id", "tenantId", "name" FROM "ApiKey" WHERE "hash" = $1 AND "revokedAt" IS NULL`,
    [hashOfKey(key)],
  );
  return rows[0] ?? null;
}
