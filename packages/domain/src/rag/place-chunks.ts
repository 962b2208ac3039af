import type { Queryable } from "@toolctrl/db/sql";

/**
 * Gives kept chunks their places and their document's language; a chunk that has both is not written.
 *
 * Lock: the chunks; the caller has their document's. All in one statement, at whose end no place may be taken twice. Index: the primary key.
 */
export async function placeChunks(
  tx: Queryable,
  language: string,
  chunks: ReadonlyArray<{ readonly id: string; readonly ordinal: number }>,
): Promise<void> {
  if (chunks.length === 0) return;
  await tx.query(
    `UPDATE "RagChunk" c SET "ordinal" = p."ordinal", "language" = $3
     FROM unnest($1::uuid[], $2::int[]) AS p("id", "ordinal")
     WHERE c."id" = p."id" AND (c."ordinal" <> p."ordinal" OR c."language" <> $3)`,
    [chunks.map(({ id }) => id), chunks.map(({ ordinal }) => ordinal), language],
  );
}
