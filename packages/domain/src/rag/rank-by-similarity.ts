import type { Queryable } from "@toolctrl/db/sql";
import type { VectorType } from "./find-vector-type.ts";
import { HIT_COLUMNS, JOIN_DOCUMENT, queryHits, type QueryVector, type RankedChunk, type RankScope } from "./hit.ts";
import { vectorText } from "./vector-text.ts";

/**
 * The chunks whose vectors are nearest to one, by the cosine of the angle between them; `score` is that cosine. Only vectors of the same
 * model and length that have a direction.
 *
 * Exact: looks at every such vector of the tenant's collections. With pgvector, whose arithmetic is of single precision, some thirty times
 * faster; where that gives no number, the exact function does. No lock. Index: `RagChunk_document_ordinal_key`.
 */
export function rankBySimilarity(
  db: Queryable,
  { tenantId, collections, limit }: RankScope,
  { model, vector }: QueryVector,
  pgvector: VectorType | null,
): Promise<RankedChunk[]> {
  const exact = `"cosineSimilarity"(c."embedding", $4::real[])`;
  const similarity =
    pgvector === null
      ? exact
      : `coalesce(nullif(1 - (c."embedding"::${pgvector.schema}.vector OPERATOR(${pgvector.schema}.<=>) $4::real[]::${pgvector.schema}.vector), 'NaN'), ${exact})`;
  return queryHits(
    db,
    `SELECT ${HIT_COLUMNS}, c."score" FROM (
       SELECT c.*, ${similarity} AS "score" FROM "RagChunk" c
       WHERE c."tenantId" = $1 AND ($2::text[] IS NULL OR c."collection" = ANY($2)) AND c."model" = $3
         AND c."dimension" = cardinality($4::real[]) AND NOT 0 = ALL (c."embedding")
       ORDER BY "score" DESC, c."collection", c."recordId", c."ordinal" LIMIT $5
     ) c ${JOIN_DOCUMENT}
     ORDER BY c."score" DESC, c."collection", c."recordId", c."ordinal"`,
    [tenantId, collections, model, vectorText(vector), limit],
  );
}
