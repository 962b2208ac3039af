import type { Queryable } from "@toolctrl/db/sql";
import type { JsonObject } from "@toolctrl/foundation/json";
import { z } from "zod";
import { checkSearchQuery, type SearchQuery } from "./check-search-query.ts";
import { HIT_END, HIT_START, snippetOf } from "./snippet-of.ts";

export interface SearchHit {
  readonly collection: string;
  readonly recordId: string;
  /** Plain text: to be escaped by whoever shows it. */
  readonly title: string;
  /** HTML: the body around what was found, escaped, with each hit in `<mark>`; where only the title was found, the body's beginning. */
  readonly snippet: string;
  readonly attributes: JsonObject;
  /** From 1 where the title alone answers the query, below 1 elsewhere; the higher the better. */
  readonly rank: number;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** Whether there are hits behind these. */
  readonly more: boolean;
}

const hitRow = z.object({
  collection: z.string(),
  recordId: z.string(),
  title: z.string(),
  snippet: z.string(),
  attributes: z.record(z.string(), z.json()),
  rank: z.number(),
});

/** A longer body is found in all its parts; its snippet comes from this much of it, as making one takes time by length. */
const SNIPPET_SOURCE_LENGTH = 20_000;
const SNIPPET = `StartSel="${HIT_START}", StopSel="${HIT_END}", MaxFragments=2, MaxWords=24, MinWords=8, ShortWord=0, FragmentDelimiter=" … "`;

/**
 * Finds a tenant's documents, the best first. Titles count before bodies: every document whose title answers the query comes before all
 * others; ties are in the order of collection and record, so that pages neither repeat nor lose a hit while nothing changes.
 *
 * The query is as people type it: words are all wanted, `"in quotes"` together, `or` between alternatives, `-not` before what is unwanted. Each
 * document is asked in its own language.
 *
 * Lock: none. Indexes: `SearchDocument_language_idx` for the languages the tenant has, `SearchDocument_words_idx` for the words under each.
 * @throws CodedError `SEARCH.ARGUMENT`
 */
export async function searchDocuments(db: Queryable, query: SearchQuery): Promise<SearchResult> {
  const { tenantId, query: text, collections, language, limit, offset } = checkSearchQuery(query);
  const { rows } = await db.query(
    `WITH asked AS MATERIALIZED (
       SELECT c."cfgname"::text AS "language", websearch_to_tsquery(c."oid"::regconfig, $2::text) AS "query"
         FROM pg_catalog.pg_ts_config c CROSS JOIN LATERAL (
           SELECT 1 FROM "SearchDocument" d
            WHERE d."tenantId" = $1::text AND d."language" = c."cfgname"::text AND d."deletedAt" IS NULL LIMIT 1
         ) present
        WHERE c."cfgnamespace" = 'pg_catalog'::regnamespace AND ($4::text IS NULL OR c."cfgname" = $4::text)
     ),
     found AS MATERIALIZED (
       SELECT d."collection", d."recordId", asked."query",
              (ts_filter(d."words", '{a}') @@ asked."query")::int + ts_rank_cd(d."words", asked."query", 33) AS "rank"
         FROM asked JOIN "SearchDocument" d
           ON ARRAY[d."tenantId"] @> ARRAY[$1::text] AND d."words" @@ asked."query" AND d."language" = asked."language"
        WHERE d."tenantId" = $1::text AND d."deletedAt" IS NULL AND ($3::text[] IS NULL OR d."collection" = ANY ($3::text[]))
        ORDER BY "rank" DESC, d."collection", d."recordId" LIMIT $5 OFFSET $6
     )
     SELECT d."collection", d."recordId", d."title", d."attributes", found."rank",
            ts_headline("searchConfig"(d."language"), translate(left(d."body", $7), $8, ''), found."query", $9) AS "snippet"
       FROM found JOIN "SearchDocument" d
         ON d."tenantId" = $1::text AND d."collection" = found."collection" AND d."recordId" = found."recordId"
      ORDER BY found."rank" DESC, d."collection", d."recordId"`,
    [tenantId, text, collections ?? null, language ?? null, limit + 1, offset, SNIPPET_SOURCE_LENGTH, HIT_START + HIT_END, SNIPPET],
  );
  const hits = z.array(hitRow).parse(rows.slice(0, limit));
  return { hits: hits.map((hit) => ({ ...hit, snippet: snippetOf(hit.snippet) })), more: rows.length > limit };
}
