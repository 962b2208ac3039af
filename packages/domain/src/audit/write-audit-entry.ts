import type { Queryable } from "@toolctrl/db/sql";
import type { HashedEntry } from "./audit-hash.ts";

/**
 * Writes the entry and moves the head onto it, in one statement. The caller holds the head's lock.
 * @throws when the head is gone: no row is written then.
 */
export async function writeAuditEntry(tx: Queryable, row: HashedEntry & { hash: string }): Promise<void> {
  const result = await tx.query(
    `WITH head AS (
       UPDATE "AuditChain" SET "sequence" = $2::bigint, "hash" = $8
        WHERE "tenantId" = $1 AND "sequence" = $2::bigint - 1 AND "hash" = $7
       RETURNING "tenantId"
     )
     INSERT INTO "AuditEntry" ("tenantId", "sequence", "eventId", "effectEpoch", "createdAt", "entry", "previousHash", "hash")
     SELECT head."tenantId", $2::bigint, $3::uuid, $4::int, $5::timestamptz, $6::jsonb, $7, $8 FROM head`,
    [row.tenantId, row.sequence, row.eventId, row.effectEpoch, row.createdAt, row.entryJson, row.previousHash, row.hash],
  );
  if (result.rowCount !== 1) throw new Error(`expected the head of ${row.tenantId}'s audit chain to stay at its locked state, got another`);
}
