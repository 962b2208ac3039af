import type { Queryable } from "@toolctrl/db/sql";
import { HIT_COLUMNS, JOIN_DOCUMENT, queryHits, type QueryVector, type RankedChunk, type RankScope } from "./hit.ts";
import { vectorText } from "./vector-text.ts";

/**
 * The chunks that have words of a question in the language of their document, those with more and closer ones first; `score` is
 * PostgreSQL's `ts_rank`. Leaves out the chunks that `compared` can be compared with: those have a place in the other ranking.
 *
 * No lock. Indexes: `RagDocument_language_idx` for the languages that the tenant has, `RagChunk_words_idx` for each.
 */
export function rankByWords(
  db: Queryable,
  { tenantId, collections, limit }: RankScope,
  question: string,
  compared: QueryVector | null,
): Promise<RankedChunk[]> {
  return queryHits(
    db,
    `WITH "asked" AS MATERIALIZED (
       SELECT g."cfgname"::text AS "language", "ragTextQuery"(g."cfgname"::text, $3) AS "query" FROM pg_catalog.pg_ts_config g
       WHERE g."cfgnamespace" = 'pg_catalog'::regnamespace AND EXISTS (
         SELECT 1 FROM "RagDocument" d WHERE d."tenantId" = $1 AND d."language" = g."cfgname"::text AND d."deletedAt" IS NULL)
     )
     SELECT ${HIT_COLUMNS}, c."score" FROM (
       SELECT c.*, ts_rank(c."words", a."query")::float8 AS "score" FROM "asked" a
       JOIN "RagChunk" c ON ARRAY[c."tenantId"] @> ARRAY[$1::text] AND c."words" @@ a."query" AND c."language" = a."language"
       WHERE ($2::text[] IS NULL OR c."collection" = ANY($2)) AND ($4::text IS NULL OR c."model" IS DISTINCT FROM $4
         OR c."dimension" <> cardinality($5::real[]) OR 0 = ALL (c."embedding"))
       ORDER BY "score" DESC, c."collection", c."recordId", c."ordinal" LIMIT $6
     ) c ${JOIN_DOCUMENT}
     ORDER BY c."score" DESC, c."collection", c."recordId", c."ordinal"`,
    [tenantId, collections, question, compared?.model ?? null, compared === null ? null : vectorText(compared.vector), limit],
  );
}
