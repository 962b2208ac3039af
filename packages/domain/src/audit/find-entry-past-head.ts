import type { Queryable } from "@toolctrl/db/sql";

/**
 * The first entry after the tenant's head, or null. One statement, hence one snapshot: an append moves the head and adds its entry
 * together, so a sound chain never has one, however many appends run. Index: the primary key.
 */
export async function findEntryPastHead(db: Queryable, tenantId: string): Promise<string | null> {
  const { rows } = await db.query<{ sequence: string }>(
    `SELECT "sequence"::text AS "sequence" FROM "AuditEntry"
      WHERE "tenantId" = $1 AND "sequence" > COALESCE((SELECT c."sequence" FROM "AuditChain" c WHERE c."tenantId" = $1), 0)
      ORDER BY "AuditEntry"."sequence" LIMIT 1`,
    [tenantId],
  );
  return rows[0]?.sequence ?? null;
}
