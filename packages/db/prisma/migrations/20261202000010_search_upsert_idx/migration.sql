-- purge of deleted search documents: can an older upsert of a tenant still come? WHERE eventType = 'search.index.upsert' AND tenantId = $1 AND position < $2
CREATE INDEX CONCURRENTLY IF NOT EXISTS "OutboxEvent_search_upsert_idx" ON "OutboxEvent" ("tenantId", "position") WHERE "eventType" = 'search.index.upsert'
