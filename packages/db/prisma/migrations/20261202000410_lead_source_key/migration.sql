-- form-route: one lead per person and form, whoever inserts it
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "Lead_tenantId_sourceKey_key" ON "Lead" ("tenantId", "sourceKey")
