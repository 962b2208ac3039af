import type { OutboxTransaction } from "@toolctrl/db/outbox";
import type { ApplicationEvent } from "./application-event.ts";

// One text for all: the statement is the same for one and for many.
const INSERT = `INSERT INTO "ApplicationEvent" ("id", "tenantId", "type", "object", "recordId", "actor", "source", "data")
SELECT e."id", e."tenantId", e."type", e."object", e."recordId", e."actor", e."source", e."data"
FROM jsonb_to_recordset($1::jsonb) AS e("id" uuid, "tenantId" text, "type" text, "object" text, "recordId" text, "actor" text,
  "source" text, "data" jsonb)`;

/**
 * Keeps application events, in one statement.
 *
 * Lock: none but the new rows. Indexes written: the primary key and `ApplicationEvent_record_idx`. A crash here costs nothing: what
 * happened is rolled back with it.
 */
export async function insertApplicationEvents(
  tx: OutboxTransaction,
  events: ReadonlyArray<Omit<ApplicationEvent, "createdAt">>,
): Promise<void> {
  await tx.$executeRawUnsafe(INSERT, JSON.stringify(events));
}
