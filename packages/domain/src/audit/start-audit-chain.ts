import type { Queryable } from "@toolctrl/db/sql";
import { AUDIT_GENESIS_HASH } from "./audit-hash.ts";

/** Makes the head row of a tenant's chain, once. A rival that is making it is waited for, then this does nothing. */
export async function startAuditChain(tx: Queryable, tenantId: string): Promise<void> {
  await tx.query(`INSERT INTO "AuditChain" ("tenantId", "sequence", "hash") VALUES ($1, 0, $2) ON CONFLICT DO NOTHING`, [
    tenantId,
    AUDIT_GENESIS_HASH,
  ]);
}
