-- Apart from the index itself: a file with CONCURRENTLY holds one statement.
COMMENT ON INDEX "WorkflowExecution_state_idx" IS 'metrics: open runs, WHERE status = $1, the oldest first ORDER BY finishedAt, createdAt; runs that ended of late, WHERE status = $1 AND finishedAt > $2';
