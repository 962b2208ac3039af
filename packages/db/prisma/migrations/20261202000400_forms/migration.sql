-- Forms, and what people send through them.

-- First, as it needs the strongest lock on a table that is in use: taken after a weaker one it could deadlock with a writer.
-- What a lead was made from; null where a person made it. Its unique key is built in the next migration, beside the traffic.
ALTER TABLE "Lead" ADD COLUMN "sourceKey" TEXT;

CREATE TABLE "Form" (
  "id"        UUID           NOT NULL,
  "tenantId"  TEXT           NOT NULL,
  "name"      TEXT           NOT NULL,
  "fields"    JSONB          NOT NULL,
  "routes"    JSONB          NOT NULL,
  "version"   INTEGER        NOT NULL DEFAULT 1,
  "createdAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "updatedAt" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT "Form_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "Form_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "Form_fields_check" CHECK (jsonb_typeof("fields") = 'array'),
  CONSTRAINT "Form_routes_check" CHECK (jsonb_typeof("routes") = 'array'),
  CONSTRAINT "Form_version_check" CHECK ("version" > 0)
);

-- "data" never changes. "submissionKey" is the submitter's own: the second of two clicks finds the first one's row by it.
CREATE TABLE "FormSubmission" (
  "id"            UUID           NOT NULL,
  "tenantId"      TEXT           NOT NULL,
  "formId"        UUID           NOT NULL,
  "formVersion"   INTEGER        NOT NULL,
  "data"          JSONB          NOT NULL,
  "submissionKey" TEXT,
  "submittedAt"   TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
  "routedAt"      TIMESTAMPTZ(6),
  "leadId"        UUID,
  CONSTRAINT "FormSubmission_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "FormSubmission_formId_fkey" FOREIGN KEY ("formId") REFERENCES "Form" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "FormSubmission_leadId_fkey" FOREIGN KEY ("leadId") REFERENCES "Lead" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT "FormSubmission_tenantId_check" CHECK ("tenantId" <> ''),
  CONSTRAINT "FormSubmission_formVersion_check" CHECK ("formVersion" > 0),
  CONSTRAINT "FormSubmission_data_check" CHECK (jsonb_typeof("data") = 'object'),
  CONSTRAINT "FormSubmission_submissionKey_check" CHECK ("submissionKey" <> ''),
  CONSTRAINT "FormSubmission_routed_check" CHECK ("leadId" IS NULL OR "routedAt" IS NOT NULL)
);
CREATE UNIQUE INDEX "FormSubmission_formId_submissionKey_key" ON "FormSubmission" ("formId", "submissionKey");
COMMENT ON INDEX "FormSubmission_formId_submissionKey_key" IS 'submitForm: has this key been submitted? SELECT WHERE formId = $1 AND submissionKey = $2; INSERT ... ON CONFLICT DO NOTHING';
CREATE INDEX "FormSubmission_formId_id_idx" ON "FormSubmission" ("formId", "id");
COMMENT ON INDEX "FormSubmission_formId_id_idx" IS 'product: the submissions of a form, WHERE formId = $1 AND id > $2 ORDER BY id; the check of the foreign key';
CREATE INDEX "FormSubmission_leadId_idx" ON "FormSubmission" ("leadId");
COMMENT ON INDEX "FormSubmission_leadId_idx" IS 'product: what a lead has sent, WHERE leadId = $1; the check of the foreign key';
