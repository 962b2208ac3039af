import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const entryRow = z.object({
  sequence: z.string(),
  eventId: z.string(),
  effectEpoch: z.number(),
  entry: z.json(),
  previousHash: z.string(),
  hash: z.string(),
  createdAt: z.string(),
});

export type StoredEntry = z.output<typeof entryRow>;

/** The entries of a tenant after one sequence, in order, at most `limit`. Index: the primary key. No lock. */
export async function readAuditBatch(db: Queryable, from: { tenantId: string; after: string; limit: number }): Promise<StoredEntry[]> {
  const { rows } = await db.query(
    `SELECT "sequence"::text AS "sequence", "eventId"::text AS "eventId", "effectEpoch", "entry", "previousHash", "hash",
            to_char("createdAt" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt"
       FROM "AuditEntry" a WHERE a."tenantId" = $1 AND a."sequence" > $2::bigint ORDER BY a."sequence" LIMIT $3`,
    [from.tenantId, from.after, from.limit],
  );
  return z.array(entryRow).parse(rows);
}
