-- opportunity-create: one opportunity per converted lead, whoever inserts it
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "Opportunity_tenantId_sourceLeadId_key" ON "Opportunity" ("tenantId", "sourceLeadId")
