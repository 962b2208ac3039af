import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const rowRow = z.object({
  table: z.enum(["EmailMessage", "Notification", "AuditEntry", "SearchDocument", "AiCostEntry"]),
  key: z.string(),
  effectEpoch: z.number(),
  createdAt: z.date(),
});

/** A row that a consumer wrote for an event; `key` finds it in its table. */
export type EffectRow = z.output<typeof rowRow>;

/** The database effects of an event. Indexes: each table's unique key over the event, `SearchDocument_eventId_idx`. */
export async function listEventRows(db: Queryable, eventId: string): Promise<EffectRow[]> {
  const { rows } = await db.query(
    `SELECT 'EmailMessage' AS "table", "messageId" AS "key", "effectEpoch", "createdAt" FROM "EmailMessage" WHERE "eventId" = $1::uuid
     UNION ALL
     SELECT 'Notification', "id"::text, "effectEpoch", "createdAt" FROM "Notification" WHERE "eventId" = $1::uuid
     UNION ALL
     SELECT 'AuditEntry', "tenantId" || ' #' || "sequence"::text, "effectEpoch", "createdAt" FROM "AuditEntry" WHERE "eventId" = $1::uuid
     UNION ALL
     SELECT 'SearchDocument', "collection" || '/' || "recordId" || CASE WHEN "deletedAt" IS NULL THEN '' ELSE ' (deleted)' END, "effectEpoch", "appliedAt"
       FROM "SearchDocument" WHERE "eventId" = $1::uuid
     UNION ALL
     SELECT 'AiCostEntry', "model" || ' ' || trim_scale("amount")::text || ' ' || "currency", "effectEpoch", "createdAt"
       FROM "AiCostEntry" WHERE "eventId" = $1::uuid
     ORDER BY "createdAt"`,
    [eventId],
  );
  return z.array(rowRow).parse(rows);
}
