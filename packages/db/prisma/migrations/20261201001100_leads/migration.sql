-- Leads and what converting one yields: contact, company, and by an after-save effect the opportunity with its human number.

CREATE TABLE "Company" (
  "id"        UUID           NOT NULL,
  "tenantId"  TEXT           NOT NULL,
  "name"      TEXT           NOT NULL,
  "nameKey"   TEXT           NOT NULL,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Company_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Company_tenantId_check" CHECK ("tenantId" <> '')
);
CREATE UNIQUE INDEX "Company_tenantId_nameKey_key" ON "Company" ("tenantId", "nameKey");
COMMENT ON INDEX "Company_tenantId_nameKey_key" IS 'conversion: the company of a name, SELECT id WHERE tenantId = $1 AND nameKey = $2, else INSERT ... ON CONFLICT DO NOTHING';

-- "contactKey" is the address in its compared form, or the lead's id where the lead has no address.
CREATE TABLE "Contact" (
  "id"         UUID           NOT NULL,
  "tenantId"   TEXT           NOT NULL,
  "companyId"  UUID           NOT NULL,
  "name"       TEXT           NOT NULL,
  "email"      TEXT,
  "contactKey" TEXT           NOT NULL,
  "createdAt"  TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Contact_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Contact_companyId_fkey" FOREIGN KEY ("companyId") REFERENCES "Company" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Contact_tenantId_check" CHECK ("tenantId" <> '')
);
CREATE UNIQUE INDEX "Contact_tenantId_contactKey_key" ON "Contact" ("tenantId", "contactKey");
COMMENT ON INDEX "Contact_tenantId_contactKey_key" IS 'conversion: the contact of an address, SELECT id WHERE tenantId = $1 AND contactKey = $2, else INSERT ... ON CONFLICT DO NOTHING';

CREATE TABLE "Lead" (
  "id"                UUID           NOT NULL,
  "tenantId"          TEXT           NOT NULL,
  "name"              TEXT           NOT NULL,
  "email"             TEXT,
  "companyName"       TEXT,
  "status"            TEXT           NOT NULL DEFAULT 'open',
  "contactId"         UUID,
  "companyId"         UUID,
  "conversionEventId" UUID,
  "convertedAt"       TIMESTAMPTZ(6),
  "createdAt"         TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt"         TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Lead_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Lead_contactId_fkey" FOREIGN KEY ("contactId") REFERENCES "Contact" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Lead_companyId_fkey" FOREIGN KEY ("companyId") REFERENCES "Company" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Lead_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "Lead_status_check" CHECK ("status" IN ('open', 'converted')),
  CONSTRAINT "Lead_converted_check" CHECK (
    num_nulls("contactId", "companyId", "conversionEventId", "convertedAt") = CASE "status" WHEN 'converted' THEN 0 ELSE 4 END
  )
);

-- The last number that a tenant has given out. Its row is locked last and falls back with the attempt, so there is never a hole.
CREATE TABLE "TenantCounter" (
  "tenantId" TEXT   NOT NULL,
  "name"     TEXT   NOT NULL,
  "value"    BIGINT NOT NULL,
  CONSTRAINT "TenantCounter_pkey" PRIMARY KEY ("tenantId", "name"),
  CONSTRAINT "TenantCounter_value_check" CHECK ("value" > 0)
);

-- A merged one keeps its number, which then leads to the one that it was merged into: people have it in their letters.
CREATE TABLE "Opportunity" (
  "id"           UUID           NOT NULL,
  "tenantId"     TEXT           NOT NULL,
  "number"       BIGINT         NOT NULL,
  "name"         TEXT           NOT NULL,
  "sourceLeadId" UUID,
  "contactId"    UUID           NOT NULL,
  "companyId"    UUID           NOT NULL,
  "mergedIntoId" UUID,
  "mergedAt"     TIMESTAMPTZ(6),
  "createdAt"    TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Opportunity_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Opportunity_sourceLeadId_fkey" FOREIGN KEY ("sourceLeadId") REFERENCES "Lead" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Opportunity_contactId_fkey" FOREIGN KEY ("contactId") REFERENCES "Contact" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Opportunity_companyId_fkey" FOREIGN KEY ("companyId") REFERENCES "Company" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Opportunity_mergedIntoId_fkey" FOREIGN KEY ("mergedIntoId") REFERENCES "Opportunity" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "Opportunity_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "Opportunity_number_check" CHECK ("number" > 0),
  CONSTRAINT "Opportunity_merged_check" CHECK (
    ("mergedIntoId" IS NULL) = ("mergedAt" IS NULL) AND ("mergedIntoId" IS NULL OR ("sourceLeadId" IS NULL AND "mergedIntoId" <> "id"))
  )
);
CREATE UNIQUE INDEX "Opportunity_tenantId_number_key" ON "Opportunity" ("tenantId", "number");
COMMENT ON INDEX "Opportunity_tenantId_number_key" IS 'product: the opportunity of a human number, WHERE tenantId = $1 AND number = $2; no number twice';
CREATE INDEX "Opportunity_sourceLeadId_idx" ON "Opportunity" ("sourceLeadId");
COMMENT ON INDEX "Opportunity_sourceLeadId_idx" IS 'opportunity-create, until the unique key is built: is there one? WHERE sourceLeadId = $1; the check of the foreign key';
CREATE INDEX "Opportunity_mergedIntoId_idx" ON "Opportunity" ("mergedIntoId");
COMMENT ON INDEX "Opportunity_mergedIntoId_idx" IS 'merge: what was merged into the one that is merged now, WHERE mergedIntoId = ANY($1); the check of the foreign key';

CREATE TABLE "OpportunityNote" (
  "id"            UUID           NOT NULL,
  "opportunityId" UUID           NOT NULL,
  "body"          TEXT           NOT NULL,
  "createdAt"     TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "OpportunityNote_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "OpportunityNote_opportunityId_fkey" FOREIGN KEY ("opportunityId") REFERENCES "Opportunity" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "OpportunityNote_opportunityId_createdAt_idx" ON "OpportunityNote" ("opportunityId", "createdAt");
COMMENT ON INDEX "OpportunityNote_opportunityId_createdAt_idx" IS 'product: the notes of an opportunity, ORDER BY createdAt; merge: notes to re-point';

-- Merges the opportunities of a lead that was converted more than once, for at most "maxLeads" leads; docs/reference/leads.md has the rule:
-- the oldest stays (createdAt, then number, then id), notes and earlier merges are re-pointed to it, the others keep row and number and say
-- what they were merged into. The lead's lock is the one that opportunity-create takes, so no duplicate is made meanwhile.
-- A migration that adds another child of "Opportunity" replaces this function.
CREATE FUNCTION "mergeDuplicateOpportunities"("maxLeads" INTEGER, "dryRun" BOOLEAN)
RETURNS TABLE ("tenantId" TEXT, "sourceLeadId" UUID, "keptId" UUID, "mergedIds" UUID[], "notes" INTEGER) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  lead RECORD;
  ids UUID[];
BEGIN
  FOR lead IN
    SELECT o."tenantId", o."sourceLeadId" FROM "Opportunity" o WHERE o."sourceLeadId" IS NOT NULL
    GROUP BY o."tenantId", o."sourceLeadId" HAVING count(*) > 1 ORDER BY o."tenantId", o."sourceLeadId" LIMIT "maxLeads"
  LOOP
    IF NOT "dryRun" THEN PERFORM 1 FROM "Lead" l WHERE l."id" = lead."sourceLeadId" FOR UPDATE; END IF;
    SELECT array_agg(o."id" ORDER BY o."createdAt", o."number", o."id") INTO ids FROM "Opportunity" o
    WHERE o."tenantId" = lead."tenantId" AND o."sourceLeadId" = lead."sourceLeadId";
    CONTINUE WHEN cardinality(ids) < 2;
    "tenantId" := lead."tenantId";
    "sourceLeadId" := lead."sourceLeadId";
    "keptId" := ids[1];
    "mergedIds" := ids[2:];
    IF "dryRun" THEN
      SELECT count(*) INTO "notes" FROM "OpportunityNote" n WHERE n."opportunityId" = ANY (ids[2:]);
    ELSE
      UPDATE "OpportunityNote" SET "opportunityId" = ids[1] WHERE "opportunityId" = ANY (ids[2:]);
      GET DIAGNOSTICS "notes" = ROW_COUNT;
      UPDATE "Opportunity" SET "mergedIntoId" = ids[1] WHERE "mergedIntoId" = ANY (ids[2:]);
      UPDATE "Opportunity" SET "mergedIntoId" = ids[1], "mergedAt" = clock_timestamp(), "sourceLeadId" = NULL WHERE "id" = ANY (ids[2:]);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
