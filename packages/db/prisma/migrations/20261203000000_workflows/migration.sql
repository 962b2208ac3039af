-- Workflows: what tenants define, the runs of it, and every step of a run.

-- "triggerType" and "triggerKey" say what starts the live version: a table, a form's id, an event type or its prefix; null for a person.
CREATE TABLE "Workflow" (
  "id"          UUID           NOT NULL,
  "tenantId"    TEXT           NOT NULL,
  "name"        TEXT           NOT NULL,
  "version"     INTEGER        NOT NULL DEFAULT 1,
  "live"        BOOLEAN        NOT NULL DEFAULT false,
  "triggerType" TEXT           NOT NULL,
  "triggerKey"  TEXT,
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Workflow_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Workflow_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "Workflow_version_check" CHECK ("version" > 0),
  CONSTRAINT "Workflow_trigger_check" CHECK (CASE "triggerType"
    WHEN 'manual' THEN "triggerKey" IS NULL
    WHEN 'row' THEN "triggerKey" IS NOT NULL
    WHEN 'form' THEN "triggerKey" IS NOT NULL
    WHEN 'event' THEN "triggerKey" IS NOT NULL
    ELSE false END)
);
CREATE INDEX "Workflow_trigger_idx" ON "Workflow" ("tenantId", "triggerType", "triggerKey") WHERE "live";
COMMENT ON INDEX "Workflow_trigger_idx" IS 'workflow-trigger: the live workflows that an event starts, WHERE tenantId = $1 AND triggerType = $2 AND triggerKey = ANY ($3) AND live';
CREATE INDEX "Workflow_tenantId_id_idx" ON "Workflow" ("tenantId", "id");
COMMENT ON INDEX "Workflow_tenantId_id_idx" IS 'product: a tenant''s workflows, WHERE tenantId = $1 AND id > $2 ORDER BY id';

-- A version never changes: a run keeps the one it started with.
CREATE TABLE "WorkflowVersion" (
  "workflowId" UUID           NOT NULL,
  "version"    INTEGER        NOT NULL,
  "definition" JSONB          NOT NULL,
  "createdAt"  TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "WorkflowVersion_pkey" PRIMARY KEY ("workflowId", "version"),
  CONSTRAINT "WorkflowVersion_workflowId_fkey" FOREIGN KEY ("workflowId") REFERENCES "Workflow" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "WorkflowVersion_definition_check" CHECK (jsonb_typeof("definition") = 'object')
);

-- "retryEpoch" goes up when a person has the run repeat from a step. "depth" counts the events that led to it: a loop ends by it.
-- "streamUntil": the web process that executes the run itself holds it until then.
CREATE TABLE "WorkflowExecution" (
  "id"             UUID           NOT NULL,
  "tenantId"       TEXT           NOT NULL,
  "workflowId"     UUID           NOT NULL,
  "version"        INTEGER        NOT NULL,
  "status"         TEXT           NOT NULL DEFAULT 'queued',
  "startedBy"      TEXT           NOT NULL,
  "triggerEventId" UUID,
  "requestKey"     TEXT,
  "input"          JSONB          NOT NULL,
  "retryEpoch"     INTEGER        NOT NULL DEFAULT 0,
  "depth"          INTEGER        NOT NULL DEFAULT 0,
  "correlationId"  TEXT,
  "reasonCode"     TEXT,
  "reason"         TEXT,
  "streamUntil"    TIMESTAMPTZ(6),
  "createdAt"      TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "startedAt"      TIMESTAMPTZ(6),
  "finishedAt"     TIMESTAMPTZ(6),
  "updatedAt"      TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "WorkflowExecution_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "WorkflowExecution_version_fkey" FOREIGN KEY ("workflowId", "version") REFERENCES "WorkflowVersion" ("workflowId", "version") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "WorkflowExecution_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "WorkflowExecution_startedBy_check" CHECK ("startedBy" IN ('person', 'api', 'stream', 'row', 'form', 'event')),
  CONSTRAINT "WorkflowExecution_requestKey_check" CHECK ("requestKey" <> ''),
  CONSTRAINT "WorkflowExecution_input_check" CHECK (jsonb_typeof("input") = 'object'),
  CONSTRAINT "WorkflowExecution_counters_check" CHECK ("retryEpoch" >= 0 AND "depth" >= 0),
  CONSTRAINT "WorkflowExecution_status_check" CHECK (CASE
    WHEN "status" IN ('queued', 'running', 'waiting') THEN "finishedAt" IS NULL
    WHEN "status" IN ('success', 'cancelled') THEN "finishedAt" IS NOT NULL
    WHEN "status" IN ('error', 'rejected', 'skipped') THEN "finishedAt" IS NOT NULL AND "reasonCode" IS NOT NULL
    ELSE false END)
);
CREATE UNIQUE INDEX "WorkflowExecution_workflowId_triggerEventId_key" ON "WorkflowExecution" ("workflowId", "triggerEventId");
COMMENT ON INDEX "WorkflowExecution_workflowId_triggerEventId_key" IS 'workflow-trigger: one run per workflow and event, INSERT ... ON CONFLICT DO NOTHING';
CREATE UNIQUE INDEX "WorkflowExecution_workflowId_requestKey_key" ON "WorkflowExecution" ("workflowId", "requestKey");
COMMENT ON INDEX "WorkflowExecution_workflowId_requestKey_key" IS 'run: one run per workflow and key of the caller, INSERT ... ON CONFLICT DO NOTHING';
CREATE INDEX "WorkflowExecution_tenantId_id_idx" ON "WorkflowExecution" ("tenantId", "id");
COMMENT ON INDEX "WorkflowExecution_tenantId_id_idx" IS 'product: a tenant''s runs, newest first, WHERE tenantId = $1 AND id < $2 ORDER BY id DESC';
CREATE INDEX "WorkflowExecution_workflowId_version_idx" ON "WorkflowExecution" ("workflowId", "version");
COMMENT ON INDEX "WorkflowExecution_workflowId_version_idx" IS 'the check of the foreign key, WHERE workflowId = $1 AND version = $2: the unique keys would read all runs of a workflow for a version that has none';

-- One row per step, turn of its loop, and epoch. "current" is false once a repeat has taken its place.
CREATE TABLE "WorkflowStep" (
  "id"           UUID           NOT NULL,
  "executionId"  UUID           NOT NULL,
  "nodeId"       TEXT           NOT NULL,
  "iteration"    INTEGER        NOT NULL DEFAULT 0,
  "retryEpoch"   INTEGER        NOT NULL DEFAULT 0,
  "current"      BOOLEAN        NOT NULL DEFAULT true,
  "status"       TEXT           NOT NULL DEFAULT 'ready',
  "branch"       TEXT,
  "output"       JSONB,
  "attempts"     INTEGER        NOT NULL DEFAULT 0,
  "unknowns"     INTEGER        NOT NULL DEFAULT 0,
  "token"        UUID,
  "callingSince" TIMESTAMPTZ(6),
  "dueAt"        TIMESTAMPTZ(6),
  "errorCode"    TEXT,
  "error"        TEXT,
  "createdAt"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "finishedAt"   TIMESTAMPTZ(6),
  CONSTRAINT "WorkflowStep_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "WorkflowStep_executionId_fkey" FOREIGN KEY ("executionId") REFERENCES "WorkflowExecution" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "WorkflowStep_counters_check" CHECK ("iteration" >= 0 AND "retryEpoch" >= 0 AND "unknowns" >= 0 AND "unknowns" <= "attempts"),
  CONSTRAINT "WorkflowStep_status_check" CHECK (CASE
    WHEN "status" IN ('ready', 'waiting') THEN num_nonnulls("token", "callingSince", "finishedAt") = 0
    WHEN "status" = 'retry' THEN "dueAt" IS NOT NULL AND num_nonnulls("token", "callingSince", "finishedAt") = 0
    WHEN "status" = 'calling' THEN num_nulls("token", "callingSince") = 0 AND "finishedAt" IS NULL
    WHEN "status" = 'done' THEN "branch" IS NOT NULL AND "finishedAt" IS NOT NULL AND "token" IS NULL
    WHEN "status" = 'failed' THEN "errorCode" IS NOT NULL AND "finishedAt" IS NOT NULL AND "token" IS NULL
    WHEN "status" IN ('skipped', 'cancelled') THEN "finishedAt" IS NOT NULL AND "token" IS NULL
    ELSE false END)
);
CREATE UNIQUE INDEX "WorkflowStep_identity_key" ON "WorkflowStep" ("executionId", "nodeId", "iteration", "retryEpoch");
COMMENT ON INDEX "WorkflowStep_identity_key" IS 'runner: a step runs once in its turn and epoch; the steps of a run, WHERE executionId = $1';

-- What a run asks a person. One submission wins: "open" -> "submitted" by compare-and-set.
CREATE TABLE "WorkflowInput" (
  "id"          UUID           NOT NULL,
  "tenantId"    TEXT           NOT NULL,
  "executionId" UUID           NOT NULL,
  "stepId"      UUID           NOT NULL,
  "title"       TEXT           NOT NULL,
  "assignee"    TEXT,
  "fields"      JSONB          NOT NULL,
  "status"      TEXT           NOT NULL DEFAULT 'open',
  "value"       JSONB,
  "answeredBy"  TEXT,
  "expiresAt"   TIMESTAMPTZ(6),
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "answeredAt"  TIMESTAMPTZ(6),
  CONSTRAINT "WorkflowInput_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "WorkflowInput_stepId_fkey" FOREIGN KEY ("stepId") REFERENCES "WorkflowStep" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "WorkflowInput_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "WorkflowInput_fields_check" CHECK (jsonb_typeof("fields") = 'array'),
  CONSTRAINT "WorkflowInput_status_check" CHECK (CASE "status"
    WHEN 'submitted' THEN "value" IS NOT NULL AND "answeredAt" IS NOT NULL
    WHEN 'open' THEN num_nonnulls("value", "answeredAt", "answeredBy") = 0
    WHEN 'expired' THEN num_nonnulls("value", "answeredAt", "answeredBy") = 0
    WHEN 'cancelled' THEN num_nonnulls("value", "answeredAt", "answeredBy") = 0
    ELSE false END)
);
CREATE UNIQUE INDEX "WorkflowInput_stepId_key" ON "WorkflowInput" ("stepId");
COMMENT ON INDEX "WorkflowInput_stepId_key" IS 'runner: a waiting step asks once, WHERE stepId = ANY ($1)';
CREATE INDEX "WorkflowInput_open_idx" ON "WorkflowInput" ("tenantId", "id") WHERE "status" = 'open';
COMMENT ON INDEX "WorkflowInput_open_idx" IS 'product: what a tenant''s people are asked, WHERE tenantId = $1 AND status = ''open'' AND id > $2 ORDER BY id';

-- What a stored credential adds to a request. "secret" is sealed with a key that only the web app has.
CREATE TABLE "WorkflowCredential" (
  "id"        UUID           NOT NULL,
  "tenantId"  TEXT           NOT NULL,
  "name"      TEXT           NOT NULL,
  "header"    TEXT           NOT NULL,
  "secret"    JSONB          NOT NULL,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "WorkflowCredential_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "WorkflowCredential_tenantId_check" CHECK ("tenantId" <> '')
);
CREATE UNIQUE INDEX "WorkflowCredential_tenantId_name_key" ON "WorkflowCredential" ("tenantId", "name");
COMMENT ON INDEX "WorkflowCredential_tenantId_name_key" IS 'product: a tenant''s credential of a name, WHERE tenantId = $1 AND name = $2; no name twice';

-- Signed requests that the bridge has taken: each counts once.
CREATE TABLE "BridgeNonce" (
  "nonce"     TEXT           NOT NULL,
  "expiresAt" TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT "BridgeNonce_pkey" PRIMARY KEY ("nonce")
);
CREATE INDEX "BridgeNonce_expiresAt_idx" ON "BridgeNonce" ("expiresAt");
COMMENT ON INDEX "BridgeNonce_expiresAt_idx" IS 'bridge: forget what has expired, DELETE WHERE expiresAt < $1';

-- What happened in a tenant's product, for its people to read.
CREATE TABLE "ApplicationEvent" (
  "id"        UUID           NOT NULL,
  "tenantId"  TEXT           NOT NULL,
  "type"      TEXT           NOT NULL,
  "object"    TEXT           NOT NULL,
  "recordId"  TEXT           NOT NULL,
  "actor"     TEXT,
  "source"    TEXT           NOT NULL,
  "data"      JSONB          NOT NULL,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "ApplicationEvent_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "ApplicationEvent_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "ApplicationEvent_source_check" CHECK ("source" IN ('request', 'workflow', 'system'))
);
CREATE INDEX "ApplicationEvent_record_idx" ON "ApplicationEvent" ("tenantId", "object", "recordId", "id");
COMMENT ON INDEX "ApplicationEvent_record_idx" IS 'product: what happened to a record, WHERE tenantId = $1 AND object = $2 AND recordId = $3 ORDER BY id DESC';

-- What a tenant's programs are known by. "hash" is the SHA-256 of the key in hex: the key itself is kept nowhere.
CREATE TABLE "ApiKey" (
  "id"        UUID           NOT NULL,
  "tenantId"  TEXT           NOT NULL,
  "name"      TEXT           NOT NULL,
  "hash"      TEXT           NOT NULL,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "revokedAt" TIMESTAMPTZ(6),
  CONSTRAINT "ApiKey_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "ApiKey_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "ApiKey_name_check" CHECK ("name" <> ''),
  CONSTRAINT "ApiKey_hash_check" CHECK (length("hash") = 64)
);
CREATE UNIQUE INDEX "ApiKey_hash_key" ON "ApiKey" ("hash");
COMMENT ON INDEX "ApiKey_hash_key" IS 'web: whose key a request has, WHERE hash = $1 AND revokedAt IS NULL';
