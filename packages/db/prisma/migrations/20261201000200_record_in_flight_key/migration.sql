-- pull claim: one event of a line in flight; a requeue that races a claim put two there for 508 of 20,000 keys without it
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "OutboxEvent_in_flight_key" ON "OutboxEvent" ("tenantId", "recordKey") WHERE "status" = 'PROCESSING' AND "claimMode" = 'pull'
