COMMENT ON INDEX "Lead_tenantId_sourceKey_key" IS 'form-route: the lead of a source, SELECT id WHERE tenantId = $1 AND sourceKey = $2, else INSERT ... ON CONFLICT DO NOTHING';
