-- The outbox: events, their receipts, and the state of the processes that drain them.

CREATE TYPE "OutboxStatus" AS ENUM ('PENDING', 'PROCESSING', 'DONE', 'FAILED', 'CANCELLED');

CREATE TABLE "OutboxEvent" (
  "id"            UUID           NOT NULL,
  "position"      BIGINT         NOT NULL GENERATED ALWAYS AS IDENTITY,
  "tenantId"      TEXT           NOT NULL,
  "eventType"     TEXT           NOT NULL,
  "version"       INTEGER        NOT NULL DEFAULT 1,
  "payload"       JSONB          NOT NULL,
  "dispatchKey"   TEXT,
  "status"        "OutboxStatus" NOT NULL DEFAULT 'PENDING',
  "attempts"      INTEGER        NOT NULL DEFAULT 0,
  "retries"       INTEGER        NOT NULL DEFAULT 0,
  "crashes"       INTEGER        NOT NULL DEFAULT 0,
  "scheduledAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "lockedUntil"   TIMESTAMPTZ(6),
  "lockToken"     UUID,
  "claimMode"     TEXT,
  "blocksLine"    BOOLEAN        NOT NULL DEFAULT true,
  "lastErrorCode" TEXT,
  "lastError"     TEXT,
  "processedAt"   TIMESTAMPTZ(6),
  "generation"    INTEGER        NOT NULL DEFAULT 0,
  "effectEpoch"   INTEGER        NOT NULL DEFAULT 0,
  "replayConsumer" TEXT,
  "traceparent"   TEXT,
  "tracestate"    TEXT,
  "correlationId" TEXT,
  "causationId"   TEXT,
  "depth"         INTEGER        NOT NULL DEFAULT 0,
  "createdAt"     TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"     TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "OutboxEvent_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "OutboxEvent_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "OutboxEvent_eventType_check" CHECK ("eventType" <> ''),
  CONSTRAINT "OutboxEvent_version_check" CHECK ("version" > 0),
  CONSTRAINT "OutboxEvent_counters_check" CHECK ("attempts" >= 0 AND "retries" >= 0 AND "crashes" >= 0 AND "generation" >= 0 AND "effectEpoch" >= 0 AND "depth" >= 0),
  CONSTRAINT "OutboxEvent_claim_check" CHECK (
    ("status" = 'PROCESSING') = ("lockedUntil" IS NOT NULL AND "lockToken" IS NOT NULL AND "claimMode" IS NOT NULL)
    AND num_nulls("lockedUntil", "lockToken", "claimMode") IN (0, 3)
  ),
  CONSTRAINT "OutboxEvent_claimMode_check" CHECK ("claimMode" IN ('batch', 'solo', 'pull')),
  CONSTRAINT "OutboxEvent_processedAt_check" CHECK (("status" = 'DONE') = ("processedAt" IS NOT NULL)),
  CONSTRAINT "OutboxEvent_failed_check" CHECK ("status" <> 'FAILED' OR "lastErrorCode" IS NOT NULL),
  CONSTRAINT "OutboxEvent_blocksLine_check" CHECK (
    CASE "status" WHEN 'PENDING' THEN "blocksLine" WHEN 'PROCESSING' THEN "blocksLine" WHEN 'FAILED' THEN true ELSE NOT "blocksLine" END
  ),
  CONSTRAINT "OutboxEvent_replay_check" CHECK ("replayConsumer" IS NULL OR "effectEpoch" > 0)
);

-- An event waits in this table for seconds, so its pages turn over fast: vacuum by a small constant, not by a share of the history.
ALTER TABLE "OutboxEvent" SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02, fillfactor = 80);

CREATE UNIQUE INDEX "OutboxEvent_tenantId_dispatchKey_key" ON "OutboxEvent" ("tenantId", "dispatchKey") WHERE "dispatchKey" IS NOT NULL;
COMMENT ON INDEX "OutboxEvent_tenantId_dispatchKey_key" IS 'publish: INSERT ... ON CONFLICT DO NOTHING, then SELECT id WHERE tenantId = $1 AND dispatchKey = $2';

CREATE INDEX "OutboxEvent_due_idx" ON "OutboxEvent" ("tenantId", "scheduledAt", "position") WHERE "status" = 'PENDING';
COMMENT ON INDEX "OutboxEvent_due_idx" IS 'claim: per tenant, WHERE status = PENDING AND tenantId = $1 AND scheduledAt <= now ORDER BY scheduledAt, position; the walk over tenants; backlog counts';

CREATE INDEX "OutboxEvent_expired_idx" ON "OutboxEvent" ("lockedUntil") WHERE "status" = 'PROCESSING';
COMMENT ON INDEX "OutboxEvent_expired_idx" IS 'reclaim: WHERE status = PROCESSING AND lockedUntil <= now ORDER BY lockedUntil LIMIT 1';

CREATE INDEX "OutboxEvent_retention_idx" ON "OutboxEvent" ("processedAt", "id") WHERE "status" = 'DONE';
COMMENT ON INDEX "OutboxEvent_retention_idx" IS 'retention and requeue by range: WHERE status = DONE AND processedAt < $1 ORDER BY processedAt, id';

CREATE INDEX "OutboxEvent_dead_idx" ON "OutboxEvent" ("updatedAt", "id") WHERE "status" IN ('FAILED', 'CANCELLED');
COMMENT ON INDEX "OutboxEvent_dead_idx" IS 'operators: list and bulk requeue WHERE status IN (FAILED, CANCELLED) ORDER BY updatedAt, id';

-- Consumer C finished event E (outcome done), or gave up on it (outcome dead, which suppresses nothing).
CREATE TABLE "OutboxReceipt" (
  "eventId"     UUID           NOT NULL,
  "consumer"    TEXT           NOT NULL,
  "effectEpoch" INTEGER        NOT NULL DEFAULT 0,
  "tenantId"    TEXT           NOT NULL,
  "outcome"     TEXT           NOT NULL,
  "result"      JSONB,
  "detail"      TEXT,
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "OutboxReceipt_pkey" PRIMARY KEY ("eventId", "consumer", "effectEpoch"),
  CONSTRAINT "OutboxReceipt_outcome_check" CHECK ("outcome" IN ('done', 'dead')),
  CONSTRAINT "OutboxReceipt_effectEpoch_check" CHECK ("effectEpoch" >= 0)
);
CREATE INDEX "OutboxReceipt_retention_idx" ON "OutboxReceipt" ("updatedAt", "eventId");
COMMENT ON INDEX "OutboxReceipt_retention_idx" IS 'retention: receipts whose event is gone, WHERE updatedAt < $1 ORDER BY updatedAt, eventId';
CREATE INDEX "OutboxReceipt_dead_idx" ON "OutboxReceipt" ("consumer", "updatedAt") WHERE "outcome" = 'dead';
COMMENT ON INDEX "OutboxReceipt_dead_idx" IS 'stats: dead jobs per consumer, WHERE outcome = dead';

-- One irreversible outside call: pending -> sending(token) -> sent | unknown | failed, moved by compare-and-set.
CREATE TABLE "OutboxIntent" (
  "id"           UUID           NOT NULL,
  "eventId"      UUID           NOT NULL,
  "tenantId"     TEXT           NOT NULL,
  "consumer"     TEXT           NOT NULL,
  "target"       TEXT           NOT NULL DEFAULT '',
  "effectEpoch"  INTEGER        NOT NULL DEFAULT 0,
  "state"        TEXT           NOT NULL DEFAULT 'pending',
  "token"        UUID,
  "externalId"   TEXT           NOT NULL,
  "attempts"     INTEGER        NOT NULL DEFAULT 0,
  "unknowns"     INTEGER        NOT NULL DEFAULT 0,
  "notBefore"    TIMESTAMPTZ(6),
  "lastErrorCode" TEXT,
  "lastError"    TEXT,
  "sendingSince" TIMESTAMPTZ(6),
  "sentAt"       TIMESTAMPTZ(6),
  "createdAt"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "OutboxIntent_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "OutboxIntent_state_check" CHECK ("state" IN ('pending', 'sending', 'sent', 'unknown', 'failed')),
  CONSTRAINT "OutboxIntent_sending_check" CHECK (("state" = 'sending') = ("token" IS NOT NULL)),
  CONSTRAINT "OutboxIntent_sent_check" CHECK (("state" = 'sent') = ("sentAt" IS NOT NULL)),
  CONSTRAINT "OutboxIntent_counters_check" CHECK ("attempts" >= 0 AND "unknowns" >= 0 AND "unknowns" <= "attempts")
);
CREATE UNIQUE INDEX "OutboxIntent_effect_key" ON "OutboxIntent" ("eventId", "consumer", "target", "effectEpoch");
COMMENT ON INDEX "OutboxIntent_effect_key" IS 'send: the one intent of an effect; ON CONFLICT DO NOTHING';
CREATE INDEX "OutboxIntent_retention_idx" ON "OutboxIntent" ("updatedAt", "id");
COMMENT ON INDEX "OutboxIntent_retention_idx" IS 'retention: intents whose event is gone, WHERE updatedAt < $1 ORDER BY updatedAt, id';

-- The live processes, what they serve, and their vote on the drainer.
CREATE TABLE "OutboxDrainer" (
  "id"           UUID           NOT NULL,
  "app"          TEXT           NOT NULL,
  "host"         TEXT           NOT NULL,
  "pid"          INTEGER        NOT NULL,
  "vote"         TEXT           NOT NULL DEFAULT 'false',
  "drains"       BOOLEAN        NOT NULL DEFAULT false,
  "queueBackend" TEXT           NOT NULL,
  "queuePrefix"  TEXT           NOT NULL,
  "queues"       TEXT[]         NOT NULL DEFAULT '{}',
  "startedAt"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "aliveUntil"   TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT "OutboxDrainer_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "OutboxDrainer_vote_check" CHECK ("vote" IN ('false', 'shadow', 'true'))
);

-- Which drainer may claim. Every claim statement locks this row FOR SHARE; the switch updates it.
CREATE TABLE "OutboxMode" (
  "id"        INTEGER        NOT NULL DEFAULT 1,
  "mode"      TEXT           NOT NULL DEFAULT 'batch',
  "desired"   TEXT           NOT NULL DEFAULT 'batch',
  "epoch"     BIGINT         NOT NULL DEFAULT 1,
  "updatedAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "OutboxMode_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "OutboxMode_one_row_check" CHECK ("id" = 1),
  CONSTRAINT "OutboxMode_mode_check" CHECK ("mode" IN ('batch', 'pull') AND "desired" IN ('batch', 'pull'))
);
INSERT INTO "OutboxMode" DEFAULT VALUES;

-- What operators did, and to what.
CREATE TABLE "OutboxAction" (
  "id"       UUID           NOT NULL,
  "actor"    TEXT           NOT NULL,
  "action"   TEXT           NOT NULL,
  "reason"   TEXT,
  "params"   JSONB          NOT NULL,
  "eventIds" UUID[]         NOT NULL DEFAULT '{}',
  "affected" INTEGER        NOT NULL DEFAULT 0,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "OutboxAction_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "OutboxAction_createdAt_idx" ON "OutboxAction" ("createdAt");
COMMENT ON INDEX "OutboxAction_createdAt_idx" IS 'operators: the newest actions, ORDER BY createdAt DESC';
CREATE INDEX "OutboxAction_eventIds_idx" ON "OutboxAction" USING GIN ("eventIds");
COMMENT ON INDEX "OutboxAction_eventIds_idx" IS 'trace: actions on one event, WHERE eventIds @> ARRAY[$1]';

-- The Postgres form of the idempotency store.
CREATE TABLE "IdempotencyKey" (
  "key"       TEXT           NOT NULL,
  "value"     TEXT           NOT NULL,
  "expiresAt" TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT "IdempotencyKey_pkey" PRIMARY KEY ("key")
);
CREATE INDEX "IdempotencyKey_expiresAt_idx" ON "IdempotencyKey" ("expiresAt");
COMMENT ON INDEX "IdempotencyKey_expiresAt_idx" IS 'retention: WHERE expiresAt < now ORDER BY expiresAt';
