-- Marketing contacts, and the addresses that get no marketing.

-- One contact per tenant and address, whatever events came in which order: an upsert older than "appliedPosition" changes neither name nor
-- attributes, a consent older than "consentPosition" changes no consent.
-- "owedBy" is the event that owes the provider the contact as it is now, null when nothing is owed. "callIntentId", "callUntil" and
-- "toldStatus" are of the last call: whose it is, until when it may be running, and what the provider was told, or may have been.
CREATE TABLE "MarketingContact" (
  "id"              UUID           NOT NULL,
  "tenantId"        TEXT           NOT NULL,
  "email"           TEXT           NOT NULL,
  "emailKey"        TEXT           NOT NULL,
  "name"            TEXT,
  "attributes"      JSONB          NOT NULL DEFAULT '{}',
  "appliedPosition" BIGINT,
  "consent"         TEXT           NOT NULL DEFAULT 'unknown',
  "consentAt"       TIMESTAMPTZ(6),
  "consentSource"   TEXT,
  "consentPosition" BIGINT,
  "revision"        BIGINT         NOT NULL DEFAULT 0,
  "owedBy"          UUID,
  "callIntentId"    UUID,
  "callUntil"       TIMESTAMPTZ(6),
  "toldStatus"      TEXT,
  "toldAt"          TIMESTAMPTZ(6),
  "providerId"      TEXT,
  "createdAt"       TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"       TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "MarketingContact_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "MarketingContact_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "MarketingContact_emailKey_check" CHECK ("emailKey" = lower("emailKey") AND "emailKey" <> ''),
  CONSTRAINT "MarketingContact_attributes_check" CHECK (jsonb_typeof("attributes") = 'object'),
  CONSTRAINT "MarketingContact_consent_check" CHECK ("consent" IN ('granted', 'denied', 'unknown')),
  CONSTRAINT "MarketingContact_consentPosition_check" CHECK (
    num_nulls("consentAt", "consentSource", "consentPosition") = CASE "consent" WHEN 'unknown' THEN 3 ELSE 0 END
  ),
  CONSTRAINT "MarketingContact_revision_check" CHECK ("revision" >= 0),
  CONSTRAINT "MarketingContact_toldStatus_check" CHECK ("toldStatus" IN ('subscribed', 'unsubscribed')),
  CONSTRAINT "MarketingContact_call_check" CHECK (
    ("callIntentId" IS NULL) = ("toldStatus" IS NULL) AND ("callIntentId" IS NOT NULL OR num_nonnulls("callUntil", "toldAt", "providerId") = 0)
  )
);
CREATE UNIQUE INDEX "MarketingContact_tenantId_emailKey_key" ON "MarketingContact" ("tenantId", "emailKey");
COMMENT ON INDEX "MarketingContact_tenantId_emailKey_key" IS 'marketing-sync: the one contact of an address, WHERE tenantId = $1 AND emailKey = $2 FOR UPDATE, else INSERT ... ON CONFLICT DO NOTHING';

-- An address that gets no marketing, whatever its consent says; there may be no contact for it.
CREATE TABLE "MarketingSuppression" (
  "tenantId" TEXT           NOT NULL,
  "emailKey" TEXT           NOT NULL,
  "reason"   TEXT           NOT NULL,
  "since"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "MarketingSuppression_pkey" PRIMARY KEY ("tenantId", "emailKey"),
  CONSTRAINT "MarketingSuppression_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "MarketingSuppression_emailKey_check" CHECK ("emailKey" = lower("emailKey") AND "emailKey" <> ''),
  CONSTRAINT "MarketingSuppression_reason_check" CHECK ("reason" <> '')
);
