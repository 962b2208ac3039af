-- how many runs are open, and how many have ended of late, without reading those that ended long ago
CREATE INDEX CONCURRENTLY IF NOT EXISTS "WorkflowExecution_state_idx" ON "WorkflowExecution" ("status", "finishedAt", "createdAt")
