-- blocked lines: the heads that failed for good and hold their line; empty as long as nothing is parked
CREATE INDEX CONCURRENTLY IF NOT EXISTS "OutboxEvent_parked_idx" ON "OutboxEvent" ("tenantId", "recordKey", "position") WHERE "status" = 'FAILED' AND "blocksLine"
