COMMENT ON INDEX "OutboxEvent_search_upsert_idx" IS 'purge of deleted search documents: can an older upsert still come? WHERE eventType = search.index.upsert AND tenantId = $1 AND position < $2';
