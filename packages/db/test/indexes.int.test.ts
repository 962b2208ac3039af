import { createTestDatabase } from "@toolctrl/testkit/template-db";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ID, TENANT, UUID } from "./seed-sql.ts";
import { WORKFLOW_FILL, WORKFLOW_QUERIES } from "./workflow-indexes.ts";

const NOW = "(SELECT clock_timestamp())";

/** The index, and the query that its comment names, in the form in which the code runs it. */
const QUERIES: Array<[index: string, sql: string]> = [
  ["OutboxEvent_tenantId_dispatchKey_key", `SELECT "id" FROM "OutboxEvent" WHERE "tenantId" = 'tenant-7' AND "dispatchKey" = 'key-7'`],
  [
    "OutboxEvent_due_idx",
    `SELECT "id" FROM "OutboxEvent" WHERE "status" = 'PENDING' AND "tenantId" = 'tenant-big' AND "scheduledAt" <= ${NOW} ORDER BY "scheduledAt", "position" LIMIT 100 FOR UPDATE SKIP LOCKED`,
  ],
  [
    "OutboxEvent_due_idx",
    `SELECT "tenantId" FROM "OutboxEvent" WHERE "status" = 'PENDING' AND "tenantId" > 'tenant-3' ORDER BY "tenantId" LIMIT 1`,
  ],
  ["OutboxEvent_due_idx", `SELECT "tenantId", count(*) FROM "OutboxEvent" WHERE "status" = 'PENDING' GROUP BY "tenantId"`],
  [
    "OutboxEvent_expired_idx",
    `SELECT "id" FROM "OutboxEvent" WHERE "status" = 'PROCESSING' AND "lockedUntil" <= ${NOW} ORDER BY "lockedUntil" LIMIT 1 FOR UPDATE SKIP LOCKED`,
  ],
  [
    "OutboxEvent_retention_idx",
    `SELECT "id" FROM "OutboxEvent" WHERE "status" = 'DONE' AND "processedAt" < ${NOW} ORDER BY "processedAt", "id" LIMIT 100 FOR UPDATE SKIP LOCKED`,
  ],
  ["OutboxEvent_dead_idx", `SELECT "id" FROM "OutboxEvent" WHERE "status" IN ('FAILED', 'CANCELLED') ORDER BY "updatedAt", "id" LIMIT 100`],
  [
    "OutboxEvent_line_idx",
    `SELECT 1 FROM "OutboxEvent" WHERE "tenantId" = 'tenant-big' AND "recordKey" = 'Row/7' AND "position" < 7000 AND "blocksLine" LIMIT 1`,
  ],
  [
    "OutboxEvent_line_idx",
    `SELECT "id" FROM "OutboxEvent" WHERE "tenantId" = 'tenant-big' AND "recordKey" = 'Row/7' AND "blocksLine" ORDER BY "position" LIMIT 1`,
  ],
  [
    "OutboxEvent_in_flight_key",
    `SELECT "id" FROM "OutboxEvent" WHERE "tenantId" = 'tenant-7' AND "recordKey" = 'Row/7' AND "status" = 'PROCESSING' AND "claimMode" = 'pull'`,
  ],
  [
    "OutboxEvent_parked_idx",
    `SELECT "tenantId", "recordKey", "id" FROM "OutboxEvent" WHERE "status" = 'FAILED' AND "blocksLine" ORDER BY "tenantId", "recordKey", "position" LIMIT 100`,
  ],
  [
    "OutboxEvent_held_idx",
    `SELECT "id" FROM "OutboxEvent" WHERE "status" = 'PENDING' AND "lastErrorCode" = 'ROUTER.HELD' AND ("eventType", "position") > ('a.b.c', 7) ORDER BY "eventType", "position" LIMIT 100 FOR UPDATE SKIP LOCKED`,
  ],
  [
    "OutboxEvent_held_idx",
    `SELECT "eventType", count(*) FROM "OutboxEvent" WHERE "status" = 'PENDING' AND "lastErrorCode" = 'ROUTER.HELD' GROUP BY "eventType"`,
  ],
  [
    "OutboxReceipt_retention_idx",
    `SELECT "eventId" FROM "OutboxReceipt" WHERE "updatedAt" < ${NOW} ORDER BY "updatedAt", "eventId" LIMIT 100`,
  ],
  ["OutboxReceipt_dead_idx", `SELECT "consumer", count(*) FROM "OutboxReceipt" WHERE "outcome" = 'dead' GROUP BY "consumer"`],
  [
    "OutboxIntent_effect_key",
    `SELECT "id" FROM "OutboxIntent" WHERE "eventId" = '${ID}' AND "consumer" = 'c' AND "target" = '' AND "effectEpoch" = 0`,
  ],
  ["OutboxIntent_retention_idx", `SELECT "id" FROM "OutboxIntent" WHERE "updatedAt" < ${NOW} ORDER BY "updatedAt", "id" LIMIT 100`],
  ["OutboxAction_createdAt_idx", `SELECT "id" FROM "OutboxAction" ORDER BY "createdAt" DESC LIMIT 20`],
  ["OutboxAction_eventIds_idx", `SELECT "id" FROM "OutboxAction" WHERE "eventIds" @> ARRAY['${ID}']::uuid[]`],
  ["IdempotencyKey_expiresAt_idx", `SELECT "key" FROM "IdempotencyKey" WHERE "expiresAt" < ${NOW} ORDER BY "expiresAt" LIMIT 100`],
  ["EmailMessage_eventId_effectEpoch_key", `SELECT "id" FROM "EmailMessage" WHERE "eventId" = '${ID}' AND "effectEpoch" = 0`],
  ["WebhookEndpoint_tenantId_idx", `SELECT "id" FROM "WebhookEndpoint" WHERE "tenantId" = 'tenant-7' AND "enabled"`],
  ["Notification_eventId_effectEpoch_key", `SELECT "id" FROM "Notification" WHERE "eventId" = '${ID}' AND "effectEpoch" = 0`],
  [
    "Notification_tenantId_createdAt_idx",
    `SELECT "id" FROM "Notification" WHERE "tenantId" = 'tenant-7' ORDER BY "createdAt" DESC LIMIT 20`,
  ],
  ["AuditEntry_eventId_effectEpoch_key", `SELECT "sequence" FROM "AuditEntry" WHERE "eventId" = '${ID}' AND "effectEpoch" = 0`],
  ["Row_parentId_idx", `SELECT "id", "table" FROM "Row" WHERE "parentId" = ANY ('{${ID}}'::uuid[]) FOR UPDATE`],
  [
    "Row_tenantId_table_id_idx",
    `SELECT "id" FROM "Row" WHERE "tenantId" = 'tenant-7' AND "table" = 'deal' AND "id" > '${ID}' ORDER BY "id" LIMIT 20`,
  ],
  ["RowField_lookupId_idx", `SELECT 1 FROM "RowField" WHERE "lookupId" = ANY ('{${ID}}'::uuid[])`],
  ["Company_tenantId_nameKey_key", `SELECT "id" FROM "Company" WHERE "tenantId" = 'tenant-7' AND "nameKey" = 'company 7'`],
  ["Contact_tenantId_contactKey_key", `SELECT "id" FROM "Contact" WHERE "tenantId" = 'tenant-7' AND "contactKey" = 'contact 7'`],
  ["Lead_tenantId_sourceKey_key", `SELECT "id" FROM "Lead" WHERE "tenantId" = 'tenant-7' AND "sourceKey" = 'source 7'`],
  [
    "FormSubmission_formId_submissionKey_key",
    `SELECT "id" FROM "FormSubmission" WHERE "formId" = lpad('7', 32, '0')::uuid AND "submissionKey" = 'key 7'`,
  ],
  [
    "FormSubmission_formId_id_idx",
    `SELECT "id" FROM "FormSubmission" WHERE "formId" = lpad('7', 32, '0')::uuid AND "id" > '${ID}' ORDER BY "id" LIMIT 20`,
  ],
  ["FormSubmission_leadId_idx", `SELECT "id" FROM "FormSubmission" WHERE "leadId" = '${ID}'`],
  ["Opportunity_tenantId_number_key", `SELECT "id" FROM "Opportunity" WHERE "tenantId" = 'tenant-7' AND "number" = 7`],
  ["Opportunity_sourceLeadId_idx", `SELECT 1 FROM "Opportunity" WHERE "sourceLeadId" = '${ID}' FOR KEY SHARE`],
  ["Opportunity_tenantId_sourceLeadId_key", `SELECT "id" FROM "Opportunity" WHERE "tenantId" = 'tenant-7' AND "sourceLeadId" = '${ID}'`],
  ["Opportunity_mergedIntoId_idx", `SELECT 1 FROM "Opportunity" WHERE "mergedIntoId" = ANY ('{${ID}}'::uuid[])`],
  [
    "SearchDocument_words_idx",
    `SELECT "recordId" FROM "SearchDocument" WHERE ARRAY["tenantId"] @> ARRAY['tenant-7'] AND "words" @@ websearch_to_tsquery('english', 'common word7')`,
  ],
  [
    "SearchDocument_language_idx",
    `SELECT 1 FROM "SearchDocument" WHERE "tenantId" = 'tenant-7' AND "language" = 'german' AND "deletedAt" IS NULL LIMIT 1`,
  ],
  [
    "RagDocument_language_idx",
    `SELECT 1 FROM "RagDocument" WHERE "tenantId" = 'tenant-7' AND "language" = 'german' AND "deletedAt" IS NULL LIMIT 1`,
  ],
  ["RagDocument_eventId_idx", `SELECT "recordId" FROM "RagDocument" WHERE "eventId" = '${ID}'`],
  [
    "RagChunk_document_ordinal_key",
    `SELECT "id" FROM "RagChunk" WHERE "tenantId" = 'tenant-7' AND "collection" = 'article' AND "recordId" = '7' ORDER BY "ordinal"`,
  ],
  ["RagChunk_document_ordinal_key", `SELECT "id" FROM "RagChunk" WHERE "tenantId" = 'tenant-7' AND "collection" = ANY ('{article}')`],
  [
    "RagChunk_words_idx",
    `SELECT "id" FROM "RagChunk" WHERE ARRAY["tenantId"] @> ARRAY['tenant-7'] AND "words" @@ $$'none' | 'word7'$$::tsquery`,
  ],
  ["SearchDocument_eventId_idx", `SELECT "recordId" FROM "SearchDocument" WHERE "eventId" = '${ID}'`],
  [
    "SearchDocument_deleted_idx",
    `SELECT "recordId" FROM "SearchDocument" WHERE "deletedAt" < ${NOW} ORDER BY "deletedAt", "tenantId", "collection", "recordId" LIMIT 100 FOR UPDATE SKIP LOCKED`,
  ],
  [
    "RagDocument_deleted_idx",
    `SELECT "recordId" FROM "RagDocument" WHERE "deletedAt" < ${NOW} ORDER BY "deletedAt", "tenantId", "collection", "recordId" LIMIT 100 FOR UPDATE SKIP LOCKED`,
  ],
  [
    "OutboxEvent_rag_upsert_idx",
    `SELECT 1 FROM "OutboxEvent" WHERE "eventType" = 'rag.index.upsert' AND "tenantId" = 'tenant-8' AND "position" < 4000`,
  ],
  [
    "OutboxEvent_search_upsert_idx",
    `SELECT 1 FROM "OutboxEvent" WHERE "eventType" = 'search.index.upsert' AND "tenantId" = 'tenant-7' AND "position" < 4000`,
  ],
  [
    "OpportunityNote_opportunityId_createdAt_idx",
    `SELECT "id" FROM "OpportunityNote" WHERE "opportunityId" = '${ID}' ORDER BY "createdAt"`,
  ],
  [
    "MarketingContact_tenantId_emailKey_key",
    `SELECT "id" FROM "MarketingContact" WHERE "tenantId" = 'tenant-7' AND "emailKey" = 'a7@x.example' FOR UPDATE`,
  ],
  ["PluginSubscription_tenantId_idx", `SELECT "id" FROM "PluginSubscription" WHERE "tenantId" = 'tenant-7' AND "enabled"`],
  ...WORKFLOW_QUERIES,
];

const FILL = `
INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "dispatchKey", "status", "blocksLine", "processedAt",
  "lastErrorCode", "lockedUntil", "lockToken", "claimMode")
SELECT ${UUID}, ${TENANT}, CASE n % 10 WHEN 7 THEN 'search.index.upsert' WHEN 8 THEN 'rag.index.upsert' ELSE 'a.b.c' END, '{}', 'key-' || n, s::"OutboxStatus", s IN ('PENDING', 'PROCESSING'),
  CASE s WHEN 'DONE' THEN now() - n * interval '1 second' END,
  CASE s WHEN 'FAILED' THEN 'X' END,
  CASE s WHEN 'PROCESSING' THEN now() END, CASE s WHEN 'PROCESSING' THEN ${UUID} END, CASE s WHEN 'PROCESSING' THEN 'pull' END
FROM generate_series(1, 5000) n, LATERAL (SELECT CASE WHEN n % 10 = 0 THEN 'PENDING' WHEN n % 50 = 1 THEN 'PROCESSING'
  WHEN n % 50 = 2 THEN 'FAILED' WHEN n % 50 = 3 THEN 'CANCELLED' ELSE 'DONE' END) x(s);
INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload")
SELECT ${UUID}, 'tenant-big', 'a.b.c', jsonb_build_object('object', 'Row', 'recordId', (n % 50)::text) FROM generate_series(5001, 8000) n;
INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome", "updatedAt")
SELECT ${UUID}, 'c' || n % 5, ${TENANT}, CASE WHEN n % 100 = 0 THEN 'dead' ELSE 'done' END, now() - n * interval '1 second' FROM generate_series(1, 5000) n;
INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "externalId", "updatedAt")
SELECT ${UUID}, ${UUID}, ${TENANT}, 'c', 'x', now() - n * interval '1 second' FROM generate_series(1, 3000) n;
INSERT INTO "OutboxAction" ("id", "actor", "action", "params", "eventIds", "createdAt")
SELECT ${UUID}, 'a', 'requeue', '{}', ARRAY[${UUID}], now() - n * interval '1 second' FROM generate_series(1, 3000) n;
INSERT INTO "IdempotencyKey" SELECT 'k' || n, '', now() + n * interval '1 second' FROM generate_series(-500, 3000) n;
INSERT INTO "EmailMessage" ("id", "eventId", "tenantId", "messageId", "fromAddress", "subject")
SELECT ${UUID}, ${UUID}, ${TENANT}, 'm', 'f', 's' FROM generate_series(1, 3000) n;
INSERT INTO "WebhookEndpoint" ("id", "tenantId", "url", "secrets")
SELECT ${UUID}, ${TENANT}, 'https://x.example', '[]' FROM generate_series(1, 3000) n;
INSERT INTO "Notification" ("id", "tenantId", "eventId", "eventType", "title", "createdAt")
SELECT ${UUID}, ${TENANT}, ${UUID}, 'a.b.c', 't', now() - n * interval '1 second' FROM generate_series(1, 3000) n;
INSERT INTO "AuditEntry" ("tenantId", "sequence", "eventId", "entry", "previousHash", "hash", "createdAt")
SELECT ${TENANT}, n, ${UUID}, '{}', repeat('a', 64), repeat('a', 64), now() FROM generate_series(1, 3000) n;
INSERT INTO "Row" ("id", "tenantId", "table", "data") SELECT ${UUID}, ${TENANT}, 'deal', '{}' FROM generate_series(1, 3000) n;
INSERT INTO "Row" ("id", "tenantId", "table", "level", "parentId", "data")
SELECT gen_random_uuid(), ${TENANT}, 'line', 1, ${UUID}, '{}' FROM generate_series(1, 3000) n;
INSERT INTO "RowField" ("rowId", "field", "lookupId", "appliedPosition") SELECT ${UUID}, 'f', ${UUID}, n FROM generate_series(1, 3000) n;
INSERT INTO "Company" ("id", "tenantId", "name", "nameKey") SELECT ${UUID}, ${TENANT}, 'c', 'company ' || n FROM generate_series(1, 3000) n;
INSERT INTO "Contact" ("id", "tenantId", "companyId", "name", "contactKey")
SELECT ${UUID}, ${TENANT}, ${UUID}, 'c', 'contact ' || n FROM generate_series(1, 3000) n;
INSERT INTO "Lead" ("id", "tenantId", "name", "sourceKey") SELECT ${UUID}, ${TENANT}, 'l', 'source ' || n FROM generate_series(1, 3000) n;
INSERT INTO "Form" ("id", "tenantId", "name", "fields", "routes") SELECT ${UUID}, ${TENANT}, 'f', '[]', '[]' FROM generate_series(1, 50) n;
INSERT INTO "FormSubmission" ("id", "tenantId", "formId", "formVersion", "data", "submissionKey", "routedAt", "leadId")
SELECT gen_random_uuid(), ${TENANT}, lpad(to_hex(1 + n % 50), 32, '0')::uuid, 1, '{}', 'key ' || n, now(), ${UUID} FROM generate_series(1, 3000) n;
INSERT INTO "Opportunity" ("id", "tenantId", "number", "name", "sourceLeadId", "contactId", "companyId")
SELECT ${UUID}, ${TENANT}, n, 'o', ${UUID}, ${UUID}, ${UUID} FROM generate_series(1, 3000) n;
INSERT INTO "Opportunity" ("id", "tenantId", "number", "name", "mergedIntoId", "mergedAt", "contactId", "companyId")
SELECT gen_random_uuid(), ${TENANT}, n + 3000, 'o', ${UUID}, now(), ${UUID}, ${UUID} FROM generate_series(1, 3000) n;
INSERT INTO "SearchDocument" ("tenantId", "collection", "recordId", "title", "body", "language", "eventId", "appliedPosition", "deletedAt")
SELECT ${TENANT}, 'lead', n::text, CASE WHEN n % 5 > 0 THEN 'title ' || n ELSE '' END, CASE WHEN n % 5 > 0 THEN 'a common word' || n % 10 ELSE '' END,
  CASE WHEN n % 9 = 0 THEN 'german' ELSE 'english' END, ${UUID}, n, CASE WHEN n % 5 = 0 THEN now() - n * interval '1 second' END
FROM generate_series(1, 5000) n;
INSERT INTO "RagDocument" ("tenantId", "collection", "recordId", "language", "eventId", "appliedPosition", "deletedAt")
SELECT ${TENANT}, 'article', n::text, CASE WHEN n % 9 = 0 THEN 'german' ELSE 'english' END, ${UUID}, n,
  CASE WHEN n % 5 = 0 THEN now() - n * interval '1 second' END
FROM generate_series(1, 3000) n;
INSERT INTO "RagChunk" ("id", "tenantId", "collection", "recordId", "ordinal", "text", "contentHash")
SELECT gen_random_uuid(), d."tenantId", d."collection", d."recordId", o, 'a common word' || d."recordId", repeat('a', 64)
FROM "RagDocument" d, generate_series(0, 1) o;
INSERT INTO "OpportunityNote" ("id", "opportunityId", "body") SELECT ${UUID}, ${UUID}, 'n' FROM generate_series(1, 3000) n;
INSERT INTO "MarketingContact" ("id", "tenantId", "email", "emailKey")
SELECT ${UUID}, ${TENANT}, 'a', 'a' || n || '@x.example' FROM generate_series(1, 3000) n;
INSERT INTO "PluginSubscription" ("id", "tenantId", "pluginId", "kind", "functionName")
SELECT ${UUID}, ${TENANT}, 'p', 'function', 'f' FROM generate_series(1, 3000) n;${WORKFLOW_FILL};
VACUUM ANALYZE`;

let client: pg.Client;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createTestDatabase();
  ({ drop } = database);
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const statement of FILL.split(/;\n|\n(?=VACUUM)/)) await client.query(statement);
});

afterAll(async () => {
  await client.end();
  await drop();
});

test.each(QUERIES)("%s serves %s", async (index, sql) => {
  const { rows } = await client.query<{ "QUERY PLAN": string }>(`EXPLAIN ${sql}`);
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toMatch(new RegExp(`using "${index}"|on "${index}"`));
  // An ordered index needs no sort.
  expect(plan).not.toMatch(/ORDER BY/.test(sql) ? /Seq Scan|Sort/ : /Seq Scan/);
});

test("every index has a comment that names its query, and a query here", async () => {
  const { rows } = await client.query<{ name: string; comment: string | null }>(
    `SELECT x.relname AS "name", obj_description(x.oid, 'pg_class') AS "comment" FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
     WHERE x.relnamespace = current_schema()::regnamespace AND NOT i.indisprimary ORDER BY 1`,
  );
  expect(rows.filter((row) => row.comment === null)).toEqual([]);
  expect(rows.map((row) => row.name)).toEqual([...new Set(QUERIES.map(([index]) => index))].toSorted());
});
