import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const headRow = z.object({ sequence: z.string(), hash: z.string() });

/** The head of a tenant's chain, null when the tenant has none. No lock. */
export async function readAuditHead(db: Queryable, tenantId: string): Promise<z.output<typeof headRow> | null> {
  const { rows } = await db.query(`SELECT "sequence"::text AS "sequence", "hash" FROM "AuditChain" WHERE "tenantId" = $1`, [tenantId]);
  return rows[0] === undefined ? null : headRow.parse(rows[0]);
}
