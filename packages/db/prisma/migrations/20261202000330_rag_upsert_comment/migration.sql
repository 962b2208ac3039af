COMMENT ON INDEX "OutboxEvent_rag_upsert_idx" IS 'purge of deleted documents of retrieval: can an older upsert still come? WHERE eventType = rag.index.upsert AND tenantId = $1 AND position < $2';
