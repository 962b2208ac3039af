import type { Queryable } from "@toolctrl/db/sql";
import { vectorText } from "./vector-text.ts";

/** Gives chunks new vectors. Lock: the chunks; the caller has their document's. Index: the primary key. */
export async function setVectors(
  tx: Queryable,
  model: string,
  chunks: ReadonlyArray<{ readonly id: string; readonly vector: readonly number[] }>,
): Promise<void> {
  await tx.query(
    `UPDATE "RagChunk" c SET "embedding" = v."vector"::real[], "model" = $3, "dimension" = cardinality(v."vector"::real[])
     FROM unnest($1::uuid[], $2::text[]) AS v("id", "vector") WHERE c."id" = v."id"`,
    [chunks.map(({ id }) => id), chunks.map(({ vector }) => vectorText(vector)), model],
  );
}
