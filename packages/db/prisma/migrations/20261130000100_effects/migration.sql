-- What the consumers write: mails, webhook endpoints, notifications, the audit chain.

-- A rendered mail. One per event and effect epoch; its OutboxIntent says how far the sending is.
CREATE TABLE "EmailMessage" (
  "id"          UUID           NOT NULL,
  "eventId"     UUID           NOT NULL,
  "effectEpoch" INTEGER        NOT NULL DEFAULT 0,
  "tenantId"    TEXT           NOT NULL,
  "messageId"   TEXT           NOT NULL,
  "fromAddress" TEXT           NOT NULL,
  "replyTo"     TEXT,
  "subject"     TEXT           NOT NULL,
  "text"        TEXT,
  "html"        TEXT,
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "EmailMessage_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "EmailMessage_eventId_effectEpoch_key" ON "EmailMessage" ("eventId", "effectEpoch");
COMMENT ON INDEX "EmailMessage_eventId_effectEpoch_key" IS 'render and send: the one mail of an event and epoch';

CREATE TABLE "EmailDelivery" (
  "messageId" UUID           NOT NULL,
  "recipient" TEXT           NOT NULL,
  "state"     TEXT           NOT NULL DEFAULT 'pending',
  "attempts"  INTEGER        NOT NULL DEFAULT 0,
  "replyCode" INTEGER,
  "reply"     TEXT,
  "updatedAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "EmailDelivery_pkey" PRIMARY KEY ("messageId", "recipient"),
  CONSTRAINT "EmailDelivery_messageId_fkey" FOREIGN KEY ("messageId") REFERENCES "EmailMessage" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "EmailDelivery_state_check" CHECK ("state" IN ('pending', 'accepted', 'rejected', 'unknown'))
);

CREATE TABLE "WebhookEndpoint" (
  "id"             UUID           NOT NULL,
  "tenantId"       TEXT           NOT NULL,
  "url"            TEXT           NOT NULL,
  "eventPrefixes"  TEXT[]         NOT NULL DEFAULT '{}',
  "secrets"        JSONB          NOT NULL,
  "enabled"        BOOLEAN        NOT NULL DEFAULT true,
  "disabledReason" TEXT,
  "disabledAt"     TIMESTAMPTZ(6),
  "createdAt"      TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"      TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "WebhookEndpoint_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "WebhookEndpoint_disabled_check" CHECK ("enabled" = ("disabledAt" IS NULL))
);
CREATE INDEX "WebhookEndpoint_tenantId_idx" ON "WebhookEndpoint" ("tenantId") WHERE "enabled";
COMMENT ON INDEX "WebhookEndpoint_tenantId_idx" IS 'webhook-deliver: the enabled endpoints of a tenant';

CREATE TABLE "Notification" (
  "id"          UUID           NOT NULL,
  "tenantId"    TEXT           NOT NULL,
  "eventId"     UUID           NOT NULL,
  "effectEpoch" INTEGER        NOT NULL DEFAULT 0,
  "eventType"   TEXT           NOT NULL,
  "recipientId" TEXT,
  "title"       TEXT           NOT NULL,
  "body"        TEXT           NOT NULL DEFAULT '',
  "readAt"      TIMESTAMPTZ(6),
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Notification_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "Notification_eventId_effectEpoch_key" ON "Notification" ("eventId", "effectEpoch");
COMMENT ON INDEX "Notification_eventId_effectEpoch_key" IS 'notification-create: the one notification of an event and epoch';
CREATE INDEX "Notification_tenantId_createdAt_idx" ON "Notification" ("tenantId", "createdAt");
COMMENT ON INDEX "Notification_tenantId_createdAt_idx" IS 'product: the newest notifications of a tenant';

-- Append-only, hash-chained per tenant: hash = sha256(previous hash, the entry).
CREATE TABLE "AuditEntry" (
  "tenantId"     TEXT           NOT NULL,
  "sequence"     BIGINT         NOT NULL,
  "eventId"      UUID           NOT NULL,
  "effectEpoch"  INTEGER        NOT NULL DEFAULT 0,
  "entry"        JSONB          NOT NULL,
  "previousHash" TEXT           NOT NULL,
  "hash"         TEXT           NOT NULL,
  "createdAt"    TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT "AuditEntry_pkey" PRIMARY KEY ("tenantId", "sequence"),
  CONSTRAINT "AuditEntry_sequence_check" CHECK ("sequence" > 0),
  CONSTRAINT "AuditEntry_hash_check" CHECK (length("hash") = 64 AND length("previousHash") = 64)
);
CREATE UNIQUE INDEX "AuditEntry_eventId_effectEpoch_key" ON "AuditEntry" ("eventId", "effectEpoch");
COMMENT ON INDEX "AuditEntry_eventId_effectEpoch_key" IS 'audit-append: the one entry of an event and epoch';

CREATE FUNCTION "auditEntryIsAppendOnly"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'AuditEntry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER "AuditEntry_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "AuditEntry" FOR EACH STATEMENT EXECUTE FUNCTION "auditEntryIsAppendOnly"();

-- The head of each tenant's chain: locked for the two statements of an append, no longer.
CREATE TABLE "AuditChain" (
  "tenantId" TEXT   NOT NULL,
  "sequence" BIGINT NOT NULL DEFAULT 0,
  "hash"     TEXT   NOT NULL,
  CONSTRAINT "AuditChain_pkey" PRIMARY KEY ("tenantId")
);
