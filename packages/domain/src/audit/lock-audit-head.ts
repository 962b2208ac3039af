import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const headRow = z.object({ sequence: z.string(), hash: z.string(), now: z.string(), recorded: z.boolean() });

/** The end of a tenant's chain while it is locked. `now` is the database's time, ISO 8601 in UTC with six decimals. */
export type AuditHead = z.output<typeof headRow>;

/**
 * Locks the head row of a tenant's chain until the transaction ends; null when the tenant has no chain yet.
 * `recorded` says that the event has its entry already.
 *
 * Lock: the head row, FOR UPDATE. Index: both primary key and `AuditEntry_eventId_effectEpoch_key`. A crash here costs nothing.
 */
export async function lockAuditHead(
  tx: Queryable,
  key: { tenantId: string; eventId: string; effectEpoch: number },
): Promise<AuditHead | null> {
  const { rows } = await tx.query(
    `SELECT c."sequence"::text AS "sequence", c."hash",
            to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "now",
            EXISTS (SELECT 1 FROM "AuditEntry" a WHERE a."eventId" = $2::uuid AND a."effectEpoch" = $3::int) AS "recorded"
       FROM "AuditChain" c WHERE c."tenantId" = $1 FOR UPDATE OF c`,
    [key.tenantId, key.eventId, key.effectEpoch],
  );
  return rows[0] === undefined ? null : headRow.parse(rows[0]);
}
