import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const rowRow = z.object({
  table: z.enum([
    "EmailMessage",
    "Notification",
    "AuditEntry",
    "SearchDocument",
    "RagDocument",
    "AiCostEntry",
    "FormSubmission",
    "Lead",
    "WorkflowExecution",
  ]),
  key: z.string(),
  effectEpoch: z.number(),
  createdAt: z.date(),
});

/** A row that a consumer wrote for an event; `key` finds it in its table. */
export type EffectRow = z.output<typeof rowRow>;

/**
 * The database effects of an event. Indexes: each table's unique key over the event, `SearchDocument_eventId_idx`, `RagDocument_eventId_idx`;
 * of a submission or a run, which its event names, the primary key; of the runs that an event has started, `Workflow_tenantId_id_idx` and
 * `WorkflowExecution_workflowId_triggerEventId_key`.
 */
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
     SELECT 'RagDocument', "collection" || '/' || "recordId" || CASE WHEN "deletedAt" IS NULL THEN '' ELSE ' (deleted)' END, "effectEpoch", "appliedAt"
       FROM "RagDocument" WHERE "eventId" = $1::uuid
     UNION ALL
     SELECT 'AiCostEntry', "model" || ' ' || trim_scale("amount")::text || ' ' || "currency", "effectEpoch", "createdAt"
       FROM "AiCostEntry" WHERE "eventId" = $1::uuid
     UNION ALL
     SELECT routed."table", routed."key", 0, s."routedAt"
       FROM (SELECT "tenantId", CASE WHEN "eventType" = 'form.submission.received'
               AND "payload" ->> 'recordId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN ("payload" ->> 'recordId')::uuid END AS "submissionId"
             FROM "OutboxEvent" WHERE "id" = $1::uuid) e
       JOIN "FormSubmission" s ON s."id" = e."submissionId" AND s."tenantId" = e."tenantId" AND s."routedAt" IS NOT NULL
       CROSS JOIN LATERAL (VALUES ('FormSubmission', s."id"::text), ('Lead', s."leadId"::text)) AS routed("table", "key")
       WHERE routed."key" IS NOT NULL
     UNION ALL
     SELECT 'WorkflowExecution', run."id"::text || ' (' || run."status" || ')', 0, run."at"
       FROM (SELECT "tenantId", "eventType", CASE WHEN "eventType" IN ('workflow.execution.requested', 'workflow.execution.continue.requested')
               AND "payload" ->> 'executionId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN ("payload" ->> 'executionId')::uuid END AS "executionId"
             FROM "OutboxEvent" WHERE "id" = $1::uuid) e
       CROSS JOIN LATERAL (
         SELECT x."id", x."status", x."createdAt" AS "at" FROM "Workflow" w JOIN "WorkflowExecution" x ON x."workflowId" = w."id" AND x."triggerEventId" = $1::uuid
           WHERE w."tenantId" = e."tenantId" AND e."eventType" = 'workflow.trigger.event'
         UNION ALL
         SELECT x."id", x."status", x."updatedAt" FROM "WorkflowExecution" x
           WHERE x."id" = e."executionId" AND x."tenantId" = e."tenantId" AND x."startedAt" IS NOT NULL) run
     ORDER BY "createdAt"`,
    [eventId],
  );
  return z.array(rowRow).parse(rows);
}
