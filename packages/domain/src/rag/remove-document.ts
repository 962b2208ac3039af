import type { Queryable } from "@toolctrl/db/sql";
import type { ChangingEvent, DocumentKey } from "./document.ts";
import { NOT_APPLIED, type IndexReport } from "./index-document.ts";
import { listChunks } from "./list-chunks.ts";
import { removeChunks } from "./remove-chunks.ts";
import { writeDocument } from "./write-document.ts";

/** Deletes a document as of an event, unless it is of a younger one already; an empty row stays, so that an older upsert changes nothing. */
export async function removeDocument(tx: Queryable, key: DocumentKey, event: ChangingEvent): Promise<IndexReport> {
  if (!(await writeDocument(tx, key, event, null))) return NOT_APPLIED;
  const chunks = await listChunks(tx, key);
  await removeChunks(
    tx,
    chunks.map(({ id }) => id),
  );
  return { ...NOT_APPLIED, applied: true, removed: chunks.length };
}
