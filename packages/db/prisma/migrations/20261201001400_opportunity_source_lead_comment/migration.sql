COMMENT ON INDEX "Opportunity_tenantId_sourceLeadId_key" IS 'opportunity-create: is there one? SELECT id WHERE tenantId = $1 AND sourceLeadId = $2; INSERT ... ON CONFLICT DO NOTHING';
