-- What plugins subscribe to, and what they use of the product's capabilities.

CREATE TABLE "PluginSubscription" (
  "id"             UUID           NOT NULL,
  "tenantId"       TEXT           NOT NULL,
  "pluginId"       TEXT           NOT NULL,
  "eventPrefixes"  TEXT[]         NOT NULL DEFAULT '{}',
  "kind"           TEXT           NOT NULL,
  "functionName"   TEXT,
  "url"            TEXT,
  "secrets"        JSONB,
  "enabled"        BOOLEAN        NOT NULL DEFAULT true,
  "disabledReason" TEXT,
  "disabledAt"     TIMESTAMPTZ(6),
  "createdAt"      TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"      TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "PluginSubscription_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "PluginSubscription_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "PluginSubscription_pluginId_check" CHECK ("pluginId" <> ''),
  CONSTRAINT "PluginSubscription_kind_check" CHECK (CASE "kind"
    WHEN 'function' THEN "functionName" IS NOT NULL AND num_nulls("url", "secrets") = 2
    WHEN 'http' THEN "functionName" IS NULL AND num_nulls("url", "secrets") = 0
    ELSE false END),
  CONSTRAINT "PluginSubscription_disabled_check" CHECK ("enabled" = ("disabledAt" IS NULL))
);
CREATE INDEX "PluginSubscription_tenantId_idx" ON "PluginSubscription" ("tenantId") WHERE "enabled";
COMMENT ON INDEX "PluginSubscription_tenantId_idx" IS 'plugin-fanout: the enabled subscriptions of a tenant';

-- What a plugin may use of a capability in a month, "period" being the month in UTC; without a row there is no limit.
CREATE TABLE "PluginQuota" (
  "tenantId"   TEXT           NOT NULL,
  "pluginId"   TEXT           NOT NULL,
  "capability" TEXT           NOT NULL,
  "perMonth"   BIGINT         NOT NULL,
  "createdAt"  TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"  TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "PluginQuota_pkey" PRIMARY KEY ("tenantId", "pluginId", "capability"),
  CONSTRAINT "PluginQuota_perMonth_check" CHECK ("perMonth" >= 0)
);

-- "quotaToldAt": people were told that the quota of this month is used up; they are told once.
CREATE TABLE "PluginUsage" (
  "tenantId"    TEXT           NOT NULL,
  "pluginId"    TEXT           NOT NULL,
  "capability"  TEXT           NOT NULL,
  "period"      TEXT           NOT NULL,
  "used"        BIGINT         NOT NULL,
  "quotaToldAt" TIMESTAMPTZ(6),
  "createdAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "PluginUsage_pkey" PRIMARY KEY ("tenantId", "pluginId", "capability", "period"),
  CONSTRAINT "PluginUsage_period_check" CHECK ("period" ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  CONSTRAINT "PluginUsage_used_check" CHECK ("used" > 0)
);
