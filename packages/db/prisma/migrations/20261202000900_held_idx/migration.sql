-- held routes: the events that pull workers put off because their route is held, and those that stand behind one; empty as long as nothing is held
CREATE INDEX CONCURRENTLY IF NOT EXISTS "OutboxEvent_held_idx" ON "OutboxEvent" ("eventType", "position") WHERE "status" = 'PENDING' AND "lastErrorCode" = 'ROUTER.HELD'
