import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import type { DocumentKey } from "./document.ts";

const chunkRow = z.object({ id: z.string(), ordinal: z.number(), contentHash: z.string(), model: z.string().nullable() });

/** A chunk that is kept already, without its text and its vector. */
export type StoredChunk = z.output<typeof chunkRow>;

/** The chunks of a document in their order. Index: `RagChunk_document_ordinal_key`. Lock: none, whoever writes them has the document's. */
export async function listChunks(db: Queryable, key: DocumentKey): Promise<StoredChunk[]> {
  const { rows } = await db.query(
    `SELECT "id", "ordinal", "contentHash", "model" FROM "RagChunk"
     WHERE "tenantId" = $1 AND "collection" = $2 AND "recordId" = $3 ORDER BY "ordinal"`,
    [key.tenantId, key.collection, key.recordId],
  );
  return z.array(chunkRow).parse(rows);
}
