import type { Queryable } from "@toolctrl/db/sql";
import { CodedError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { SearchChange } from "./search-change-for.ts";

/** The event that a change comes from. `position` is the decimal text of a bigint. */
export interface SearchSource {
  readonly tenantId: string;
  readonly eventId: string;
  readonly effectEpoch: number;
  readonly position: string;
}

/** What the database says to a document that it cannot take, and the place in the payload that is to blame. */
const REFUSED: Readonly<Record<string, { path: string; expected: string }>> = {
  "42704": { path: "language", expected: "a text search configuration of this server" },
  "54000": { path: "body", expected: "a text that fits the full-text index (1 MiB of words)" },
};

const APPLY = `INSERT INTO "SearchDocument" AS d ("tenantId", "collection", "recordId", "title", "body", "language", "attributes",
  "eventId", "effectEpoch", "appliedPosition", "deletedAt")
VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8::uuid, $9, $10::bigint, CASE WHEN $11::boolean THEN clock_timestamp() END)
ON CONFLICT ("tenantId", "collection", "recordId") DO UPDATE
SET "title" = EXCLUDED."title", "body" = EXCLUDED."body", "language" = EXCLUDED."language", "attributes" = EXCLUDED."attributes",
  "eventId" = EXCLUDED."eventId", "effectEpoch" = EXCLUDED."effectEpoch", "appliedPosition" = EXCLUDED."appliedPosition",
  "appliedAt" = clock_timestamp(), "deletedAt" = EXCLUDED."deletedAt"
WHERE d."appliedPosition" <= EXCLUDED."appliedPosition"`;

/**
 * Makes the document of a record what an event says, unless a younger event has been there: events of a record may come in any order.
 * The same event again is applied again, so that a replay mends a row that somebody changed by hand.
 *
 * Lock: the record's row, which a rival event of the record waits for; it then compares with what was committed. Index: the primary
 * key. A crash costs nothing, the receipt is in the same transaction.
 *
 * @returns whether it was applied; false when a younger event was.
 * @throws CodedError `RECEIVER.PAYLOAD` when the server has no such language, or the words are too many for its index
 */
export async function applySearchChange(tx: Queryable, source: SearchSource, change: SearchChange): Promise<boolean> {
  // Of a deleted record nothing is kept but that it was deleted.
  const document = change.kind === "upsert" ? change : { title: "", body: "", language: "simple", attributes: {} };
  try {
    const { rowCount } = await tx.query(APPLY, [
      source.tenantId,
      change.collection,
      change.recordId,
      document.title,
      document.body,
      document.language,
      JSON.stringify(document.attributes),
      source.eventId,
      source.effectEpoch,
      source.position,
      change.kind === "delete",
    ]);
    return rowCount === 1;
  } catch (error) {
    const refused = REFUSED[errorCodeOf(error)];
    if (refused === undefined) throw error;
    throw new CodedError("RECEIVER.PAYLOAD", `expected ${refused.path} to be ${refused.expected}, got another`, {
      facts: { eventId: source.eventId, paths: [refused.path] },
      cause: error,
    });
  }
}
