import type { Queryable } from "@toolctrl/db/sql";
import { uuidv7 } from "uuidv7";
import type { Chunk } from "./chunks-of.ts";
import type { DocumentKey } from "./document.ts";
import type { Embedding } from "./embeddings.ts";
import { vectorText } from "./vector-text.ts";

/** Inserts chunks of a document, with the vectors that they have. Lock: none that others wait for; the caller has the document's. */
export async function insertChunks(
  tx: Queryable,
  { tenantId, collection, recordId, language, model }: DocumentKey & { readonly language: string; readonly model: string | null },
  chunks: ReadonlyArray<Chunk & { readonly vector: Embedding }>,
): Promise<void> {
  await tx.query(
    `INSERT INTO "RagChunk" ("id", "tenantId", "collection", "recordId", "language", "ordinal", "text", "contentHash", "embedding", "model",
       "dimension")
     SELECT c."id", $1, $2, $3, $4, c."ordinal", c."text", c."contentHash", c."vector"::real[], CASE WHEN c."vector" IS NOT NULL THEN $5 END,
       cardinality(c."vector"::real[])
     FROM unnest($6::uuid[], $7::int[], $8::text[], $9::text[], $10::text[]) AS c("id", "ordinal", "text", "contentHash", "vector")`,
    [
      tenantId,
      collection,
      recordId,
      language,
      model,
      chunks.map(() => uuidv7()),
      chunks.map(({ ordinal }) => ordinal),
      chunks.map(({ text }) => text),
      chunks.map(({ contentHash }) => contentHash),
      chunks.map(({ vector }) => (vector === null ? null : vectorText(vector))),
    ],
  );
}
