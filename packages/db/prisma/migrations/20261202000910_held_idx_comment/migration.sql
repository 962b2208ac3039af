-- Apart from the index itself: a file with CONCURRENTLY holds one statement.
COMMENT ON INDEX "OutboxEvent_held_idx" IS 'release and stats: WHERE status = PENDING AND lastErrorCode = ROUTER.HELD AND (eventType, position) > ($1, $2) ORDER BY eventType, position; counts by eventType';
