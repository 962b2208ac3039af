import type { Queryable } from "@toolctrl/db/sql";
import type { ChangingEvent, DocumentContent, DocumentKey } from "./document.ts";

/**
 * Sets a document as of an event; `content` null leaves the empty row of a deleted one. @returns false, and nothing is changed, when the
 * document is of this event or a younger one already.
 *
 * Lock: the document's row until the transaction ends; who writes its chunks has it. A rival's insert of the same key is waited for, and
 * the guard is judged on what the rival has written. Index: the primary key. A crash here costs nothing.
 */
export async function writeDocument(
  tx: Queryable,
  key: DocumentKey,
  { eventId, position, effectEpoch }: ChangingEvent,
  content: DocumentContent | null,
): Promise<boolean> {
  const { title, language, metadata } = content ?? { title: "", language: "simple", metadata: {} };
  const { rowCount } = await tx.query(
    `INSERT INTO "RagDocument" ("tenantId", "collection", "recordId", "title", "language", "metadata", "eventId", "effectEpoch",
       "appliedPosition", "deletedAt")
     VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7::uuid, $8::int, $9::bigint, CASE WHEN $10::boolean THEN clock_timestamp() END)
     ON CONFLICT ("tenantId", "collection", "recordId") DO UPDATE
     SET "title" = EXCLUDED."title", "language" = EXCLUDED."language", "metadata" = EXCLUDED."metadata", "eventId" = EXCLUDED."eventId",
       "effectEpoch" = EXCLUDED."effectEpoch", "appliedPosition" = EXCLUDED."appliedPosition", "appliedAt" = clock_timestamp(),
       "revision" = "RagDocument"."revision" + 1, "deletedAt" = EXCLUDED."deletedAt"
     WHERE ("RagDocument"."appliedPosition", "RagDocument"."effectEpoch") < (EXCLUDED."appliedPosition", EXCLUDED."effectEpoch")`,
    [
      key.tenantId,
      key.collection,
      key.recordId,
      title,
      language,
      JSON.stringify(metadata),
      eventId,
      effectEpoch,
      position,
      content === null,
    ],
  );
  return rowCount === 1;
}
