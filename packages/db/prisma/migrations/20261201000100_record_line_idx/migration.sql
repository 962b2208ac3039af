-- eligibility: is there an older event that holds this line? WHERE tenantId = $1 AND recordKey = $2 AND position < $3 AND blocksLine; heads of lines, blocked lines
CREATE INDEX CONCURRENTLY IF NOT EXISTS "OutboxEvent_line_idx" ON "OutboxEvent" ("tenantId", "recordKey", "position") WHERE "blocksLine"
