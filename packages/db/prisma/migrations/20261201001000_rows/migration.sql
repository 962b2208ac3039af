-- The rows of a tenant's tables, and what after-save effects have set on them.

-- "parentId" and "level" never change: whoever locks several rows takes them in the order (level, id), parents first, and so never
-- waits in a circle with a cascade, which goes down the same way.
CREATE TABLE "Row" (
  "id"        UUID           NOT NULL,
  "tenantId"  TEXT           NOT NULL,
  "table"     TEXT           NOT NULL,
  "parentId"  UUID,
  "level"     INTEGER        NOT NULL DEFAULT 0,
  "data"      JSONB          NOT NULL,
  "revision"  INTEGER        NOT NULL DEFAULT 1,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Row_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Row_parentId_fkey" FOREIGN KEY ("parentId") REFERENCES "Row" ("id") ON DELETE NO ACTION ON UPDATE NO ACTION,
  CONSTRAINT "Row_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "Row_table_check" CHECK ("table" ~ '^[a-z][a-z0-9]*(-[a-z0-9]+)*$' AND length("table") <= 64),
  CONSTRAINT "Row_level_check" CHECK ("level" >= 0 AND ("level" = 0) = ("parentId" IS NULL)),
  CONSTRAINT "Row_data_check" CHECK (jsonb_typeof("data") = 'object'),
  CONSTRAINT "Row_revision_check" CHECK ("revision" > 0)
);
CREATE INDEX "Row_parentId_idx" ON "Row" ("parentId");
COMMENT ON INDEX "Row_parentId_idx" IS 'cascade: the children of the rows just locked, WHERE parentId = ANY($1); the check of the foreign key';
CREATE INDEX "Row_tenantId_table_id_idx" ON "Row" ("tenantId", "table", "id");
COMMENT ON INDEX "Row_tenantId_table_id_idx" IS 'product: the rows of a table, WHERE tenantId = $1 AND table = $2 AND id > $3 ORDER BY id';

-- One field that an effect sets on a row: a value, or a lookup of another row. Kept apart from "data", which people and workflows
-- write, so that neither overwrites the other. "appliedPosition" is the event that the value comes from: an older one never replaces it.
CREATE TABLE "RowField" (
  "rowId"           UUID   NOT NULL,
  "field"           TEXT   NOT NULL,
  "value"           JSONB,
  "lookupId"        UUID,
  "appliedPosition" BIGINT NOT NULL,
  CONSTRAINT "RowField_pkey" PRIMARY KEY ("rowId", "field"),
  CONSTRAINT "RowField_rowId_fkey" FOREIGN KEY ("rowId") REFERENCES "Row" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "RowField_lookupId_fkey" FOREIGN KEY ("lookupId") REFERENCES "Row" ("id") ON DELETE SET NULL ON UPDATE CASCADE,
  CONSTRAINT "RowField_field_check" CHECK ("field" <> ''),
  CONSTRAINT "RowField_value_check" CHECK ("value" IS NULL OR "lookupId" IS NULL)
);
CREATE INDEX "RowField_lookupId_idx" ON "RowField" ("lookupId");
COMMENT ON INDEX "RowField_lookupId_idx" IS 'cascade: lookups of the rows that go, WHERE lookupId = ANY($1); the check of the foreign key';
