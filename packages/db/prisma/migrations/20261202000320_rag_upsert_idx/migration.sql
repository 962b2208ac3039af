-- purge of deleted documents of retrieval: can an older upsert of a tenant still come? WHERE eventType = 'rag.index.upsert' AND tenantId = $1 AND position < $2
CREATE INDEX CONCURRENTLY IF NOT EXISTS "OutboxEvent_rag_upsert_idx" ON "OutboxEvent" ("tenantId", "position") WHERE "eventType" = 'rag.index.upsert'
