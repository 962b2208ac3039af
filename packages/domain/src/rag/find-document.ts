import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import type { ChangingEvent, DocumentKey } from "./document.ts";

const foundRow = z.object({ older: z.boolean() });

/**
 * Whether a document is there, and whether the event that it is of is older than this one.
 *
 * Lock: none; the answer may be out of date, `writeDocument` judges again. Index: the primary key. A crash here costs nothing.
 */
export async function findDocument(
  db: Queryable,
  key: DocumentKey,
  { position, effectEpoch }: ChangingEvent,
): Promise<{ readonly older: boolean } | null> {
  const { rows } = await db.query(
    `SELECT ("appliedPosition", "effectEpoch") < ($4::bigint, $5::int) AS "older"
     FROM "RagDocument" WHERE "tenantId" = $1 AND "collection" = $2 AND "recordId" = $3`,
    [key.tenantId, key.collection, key.recordId, position, effectEpoch],
  );
  return rows[0] === undefined ? null : foundRow.parse(rows[0]);
}
