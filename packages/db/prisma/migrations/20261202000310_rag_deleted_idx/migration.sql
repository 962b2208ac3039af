CREATE INDEX "RagDocument_deleted_idx" ON "RagDocument" ("deletedAt", "tenantId", "collection", "recordId") WHERE "deletedAt" IS NOT NULL;
COMMENT ON INDEX "RagDocument_deleted_idx" IS 'purge: old deleted ones, WHERE deletedAt < $1 ORDER BY deletedAt, tenantId, collection, recordId FOR UPDATE SKIP LOCKED';
