-- What calls of models cost: a ledger that only grows, and its sums by day.

CREATE TABLE "AiCostEntry" (
  "eventId"      UUID           NOT NULL,
  "effectEpoch"  INTEGER        NOT NULL DEFAULT 0,
  "tenantId"     TEXT           NOT NULL,
  "model"        TEXT           NOT NULL,
  "currency"     TEXT           NOT NULL,
  "amount"       NUMERIC(24,12) NOT NULL,
  "inputTokens"  BIGINT         NOT NULL,
  "outputTokens" BIGINT         NOT NULL,
  "recordedAt"   TIMESTAMPTZ(6) NOT NULL,
  "createdAt"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "AiCostEntry_pkey" PRIMARY KEY ("eventId", "effectEpoch"),
  CONSTRAINT "AiCostEntry_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "AiCostEntry_model_check" CHECK ("model" <> ''),
  CONSTRAINT "AiCostEntry_currency_check" CHECK ("currency" ~ '^[A-Z]{3}$'),
  CONSTRAINT "AiCostEntry_amount_check" CHECK ("amount" <> 'NaN'),
  CONSTRAINT "AiCostEntry_counters_check" CHECK ("inputTokens" >= 0 AND "outputTokens" >= 0 AND "effectEpoch" >= 0)
);

CREATE FUNCTION "aiCostEntryIsAppendOnly"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'AiCostEntry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER "AiCostEntry_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "AiCostEntry" FOR EACH STATEMENT EXECUTE FUNCTION "aiCostEntryIsAppendOnly"();

-- The sums of the ledger by the day, in UTC, of "recordedAt"; written in the statement that writes the entry. "repeats" are the entries of
-- deliberate repeats, which are in the sums too.
CREATE TABLE "AiCostDay" (
  "tenantId"     TEXT           NOT NULL,
  "day"          DATE           NOT NULL,
  "model"        TEXT           NOT NULL,
  "currency"     TEXT           NOT NULL,
  "amount"       NUMERIC(38,12) NOT NULL,
  "entries"      BIGINT         NOT NULL,
  "repeats"      BIGINT         NOT NULL,
  "inputTokens"  BIGINT         NOT NULL,
  "outputTokens" BIGINT         NOT NULL,
  CONSTRAINT "AiCostDay_pkey" PRIMARY KEY ("tenantId", "day", "model", "currency"),
  CONSTRAINT "AiCostDay_counters_check" CHECK (
    "entries" > 0 AND "repeats" BETWEEN 0 AND "entries" AND "inputTokens" >= 0 AND "outputTokens" >= 0
  )
);
