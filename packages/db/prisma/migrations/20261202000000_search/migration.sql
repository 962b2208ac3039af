-- What the search finds: one document per record of a tenant's collection.

-- A text search configuration of the server by its name; 42704 when the server has none of that name. Only those of pg_catalog: their
-- meaning hangs on no search_path, so the function may be called immutable. Kept by name and not as regconfig, which holds an OID: pg_upgrade
-- refuses a database with such a column.
CREATE FUNCTION "searchConfig"("language" TEXT) RETURNS regconfig LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ('pg_catalog.' || "language")::regconfig
$$;

-- "appliedPosition" is the event that the row comes from: an older one never replaces it. A deleted record leaves an empty row, or an older
-- upsert that comes late would bring it back; the row goes when no older event can come.
CREATE TABLE "SearchDocument" (
  "tenantId"        TEXT           NOT NULL,
  "collection"      TEXT           NOT NULL,
  "recordId"        TEXT           NOT NULL,
  "title"           TEXT           NOT NULL DEFAULT '',
  "body"            TEXT           NOT NULL DEFAULT '',
  "language"        TEXT           NOT NULL DEFAULT 'simple',
  "attributes"      JSONB          NOT NULL DEFAULT '{}',
  "words"           TSVECTOR       NOT NULL GENERATED ALWAYS AS (
    setweight(to_tsvector("searchConfig"("language"), "title"), 'A') || setweight(to_tsvector("searchConfig"("language"), "body"), 'D')
  ) STORED,
  "eventId"         UUID           NOT NULL,
  "effectEpoch"     INTEGER        NOT NULL DEFAULT 0,
  "appliedPosition" BIGINT         NOT NULL,
  "appliedAt"       TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "deletedAt"       TIMESTAMPTZ(6),
  CONSTRAINT "SearchDocument_pkey" PRIMARY KEY ("tenantId", "collection", "recordId"),
  CONSTRAINT "SearchDocument_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "SearchDocument_collection_check" CHECK ("collection" ~ '^[a-z][a-z0-9]*(-[a-z0-9]+)*$' AND length("collection") <= 64),
  CONSTRAINT "SearchDocument_recordId_check" CHECK ("recordId" <> ''),
  CONSTRAINT "SearchDocument_attributes_check" CHECK (jsonb_typeof("attributes") = 'object'),
  CONSTRAINT "SearchDocument_effectEpoch_check" CHECK ("effectEpoch" >= 0),
  CONSTRAINT "SearchDocument_deleted_check" CHECK (
    CASE WHEN "deletedAt" IS NULL THEN "title" <> '' ELSE "title" = '' AND "body" = '' AND "attributes" = '{}' END
  )
);
-- The tenant is part of the index, as the one element of a list: a search reads none of what other tenants have under the same words.
CREATE INDEX "SearchDocument_words_idx" ON "SearchDocument" USING gin ((ARRAY["tenantId"]), "words");
COMMENT ON INDEX "SearchDocument_words_idx" IS 'search: WHERE ARRAY[tenantId] @> ARRAY[$1] AND words @@ query';
CREATE INDEX "SearchDocument_language_idx" ON "SearchDocument" ("tenantId", "language") WHERE "deletedAt" IS NULL;
COMMENT ON INDEX "SearchDocument_language_idx" IS 'search: has the tenant documents of this language? WHERE tenantId = $1 AND language = $2 AND deletedAt IS NULL LIMIT 1';
CREATE INDEX "SearchDocument_eventId_idx" ON "SearchDocument" ("eventId");
COMMENT ON INDEX "SearchDocument_eventId_idx" IS 'trace: the documents that an event wrote, WHERE eventId = $1';
CREATE INDEX "SearchDocument_deleted_idx" ON "SearchDocument" ("deletedAt", "tenantId", "collection", "recordId") WHERE "deletedAt" IS NOT NULL;
COMMENT ON INDEX "SearchDocument_deleted_idx" IS 'purge: old deleted ones, WHERE deletedAt < $1 ORDER BY deletedAt, tenantId, collection, recordId FOR UPDATE SKIP LOCKED';
