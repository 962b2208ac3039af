-- What retrieval searches: a document per record of a tenant's collection, cut into chunks, each with a vector where there are embeddings.

-- What a question asks for in a language: any of its words, as people ask in sentences and no chunk has all the words of one. NULL when
-- nothing is left of it.
CREATE FUNCTION "ragTextQuery"("language" TEXT, "question" TEXT) RETURNS tsquery LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
  SELECT string_agg('''' || replace(replace(w."word", '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
  FROM unnest(tsvector_to_array(to_tsvector("searchConfig"("language"), "question"))) AS w("word")
$$;

-- 1 for vectors of one direction, 0 for a right angle, -1 for opposite ones. NULL where there is no angle: between vectors of different
-- lengths, and to a vector of zeros. Unnested in a SELECT list, not in FROM, the pairs are never stored: a third faster.
CREATE FUNCTION "cosineSimilarity"("a" REAL[], "b" REAL[]) RETURNS DOUBLE PRECISION LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS $$
  SELECT CASE WHEN cardinality("a") = cardinality("b") THEN (
    SELECT sum(e."x"::float8 * e."y"::float8) / nullif(sqrt(sum(e."x"::float8 * e."x"::float8)) * sqrt(sum(e."y"::float8 * e."y"::float8)), 0)
    FROM (SELECT unnest("a") AS "x", unnest("b") AS "y") AS e
  ) END
$$;

-- "appliedPosition" and "effectEpoch" are of the event that was applied last, "revision" counts those that were: an older one never
-- replaces a younger. A deleted record leaves an empty row, or an older upsert that comes late would bring it back.
CREATE TABLE "RagDocument" (
  "tenantId"        TEXT           NOT NULL,
  "collection"      TEXT           NOT NULL,
  "recordId"        TEXT           NOT NULL,
  "title"           TEXT           NOT NULL DEFAULT '',
  "language"        TEXT           NOT NULL DEFAULT 'simple',
  "metadata"        JSONB          NOT NULL DEFAULT '{}',
  "eventId"         UUID           NOT NULL,
  "effectEpoch"     INTEGER        NOT NULL DEFAULT 0,
  "appliedPosition" BIGINT         NOT NULL,
  "appliedAt"       TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "revision"        INTEGER        NOT NULL DEFAULT 1,
  "deletedAt"       TIMESTAMPTZ(6),
  CONSTRAINT "RagDocument_pkey" PRIMARY KEY ("tenantId", "collection", "recordId"),
  CONSTRAINT "RagDocument_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "RagDocument_collection_check" CHECK ("collection" ~ '^[a-z][a-z0-9]*(-[a-z0-9]+)*$' AND length("collection") <= 64),
  CONSTRAINT "RagDocument_recordId_check" CHECK ("recordId" <> ''),
  CONSTRAINT "RagDocument_metadata_check" CHECK (jsonb_typeof("metadata") = 'object'),
  CONSTRAINT "RagDocument_counters_check" CHECK ("effectEpoch" >= 0 AND "revision" > 0),
  CONSTRAINT "RagDocument_deleted_check" CHECK ("deletedAt" IS NULL OR ("title" = '' AND "metadata" = '{}'))
);
CREATE INDEX "RagDocument_language_idx" ON "RagDocument" ("tenantId", "language") WHERE "deletedAt" IS NULL;
COMMENT ON INDEX "RagDocument_language_idx" IS 'retrieve: has the tenant documents of this language? WHERE tenantId = $1 AND language = $2 AND deletedAt IS NULL LIMIT 1';
CREATE INDEX "RagDocument_eventId_idx" ON "RagDocument" ("eventId");
COMMENT ON INDEX "RagDocument_eventId_idx" IS 'trace: the document that an event was the last to change, WHERE eventId = $1';

-- A piece of a document's text. "contentHash" is the SHA-256 of "text": a chunk whose hash is there already keeps its row and its vector.
-- "model" is what the vector comes from; vectors of two models have no angle worth knowing. The key has the tenant in it, so no chunk can
-- belong to another tenant than its document.
CREATE TABLE "RagChunk" (
  "id"          UUID           NOT NULL,
  "tenantId"    TEXT           NOT NULL,
  "collection"  TEXT           NOT NULL,
  "recordId"    TEXT           NOT NULL,
  "ordinal"     INTEGER        NOT NULL,
  "language"    TEXT           NOT NULL DEFAULT 'simple',
  "text"        TEXT           NOT NULL,
  "contentHash" TEXT           NOT NULL,
  "embedding"   REAL[],
  "model"       TEXT,
  "dimension"   INTEGER,
  "words"       TSVECTOR       NOT NULL GENERATED ALWAYS AS (to_tsvector("searchConfig"("language"), "text")) STORED,
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "RagChunk_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "RagChunk_document_fkey" FOREIGN KEY ("tenantId", "collection", "recordId")
    REFERENCES "RagDocument" ("tenantId", "collection", "recordId") ON DELETE CASCADE ON UPDATE CASCADE,
  -- Deferrable, so that one statement may give kept chunks new places in any order.
  CONSTRAINT "RagChunk_document_ordinal_key" UNIQUE ("tenantId", "collection", "recordId", "ordinal") DEFERRABLE INITIALLY IMMEDIATE,
  CONSTRAINT "RagChunk_ordinal_check" CHECK ("ordinal" >= 0),
  CONSTRAINT "RagChunk_contentHash_check" CHECK ("contentHash" ~ '^[0-9a-f]{64}$'),
  CONSTRAINT "RagChunk_vector_check" CHECK (
    num_nulls("embedding", "model", "dimension") IN (0, 3)
    AND ("embedding" IS NULL OR ("dimension" BETWEEN 1 AND 16000 AND array_ndims("embedding") = 1
      AND cardinality("embedding") = "dimension" AND array_position("embedding", NULL) IS NULL
      AND NOT "embedding" && '{NaN,Infinity,-Infinity}'::real[]))
  )
);
COMMENT ON INDEX "RagChunk_document_ordinal_key" IS 'rag-index: the chunks of a document, WHERE tenantId = $1 AND collection = $2 AND recordId = $3 ORDER BY ordinal; retrieve: those of a tenant''s collections';
-- The tenant is part of the index, as the one element of a list: a question reads none of what other tenants have under the same words.
CREATE INDEX "RagChunk_words_idx" ON "RagChunk" USING gin ((ARRAY["tenantId"]), "words");
COMMENT ON INDEX "RagChunk_words_idx" IS 'retrieve: the chunks that have a word of the question, WHERE ARRAY[tenantId] @> ARRAY[$1] AND words @@ query';
-- A vector does not compress; stored plainly it is read without being unpacked.
ALTER TABLE "RagChunk" ALTER COLUMN "embedding" SET STORAGE EXTERNAL;
