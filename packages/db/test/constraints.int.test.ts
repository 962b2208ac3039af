import { createTestDatabase } from "@toolctrl/testkit/template-db";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { violatedConstraint } from "../src/client.ts";
import { NOW, OTHER, UUID, type ConstraintCase, type Row } from "./constraint-rows.ts";
import { rejection } from "./support.ts";
import { WORKFLOW_CASES, WORKFLOW_PARENTS, WORKFLOW_ROWS, WORKFLOW_STATES } from "./workflow-constraints.ts";

const HASH = "a".repeat(64);

const cost = { tenantId: "t", model: "m", currency: "EUR", amount: "1", inputTokens: 0, outputTokens: 0 };

/** A row that each table accepts; a case changes some columns of it. */
const GOOD_ROWS: Record<string, Row> = {
  OutboxEvent: { id: UUID, tenantId: "t", eventType: "a.b.c", payload: {} },
  OutboxReceipt: { eventId: UUID, consumer: "c", tenantId: "t", outcome: "done" },
  OutboxIntent: { id: UUID, eventId: UUID, tenantId: "t", consumer: "c", externalId: "x" },
  OutboxDrainer: { id: UUID, app: "a", host: "h", pid: 1, queueBackend: "redis", queuePrefix: "p", aliveUntil: NOW },
  OutboxMode: { id: 1 },
  EmailDelivery: { messageId: UUID, recipient: "r" },
  WebhookEndpoint: { id: UUID, tenantId: "t", url: "https://x.example", secrets: {} },
  AuditEntry: { tenantId: "t", sequence: 1, eventId: UUID, entry: {}, previousHash: HASH, hash: HASH, createdAt: NOW },
  Row: { id: UUID, tenantId: "t", table: "orders", data: {} },
  RowField: { rowId: OTHER, field: "f", value: "1", appliedPosition: 1 },
  Company: { id: UUID, tenantId: "t", name: "n", nameKey: "n" },
  Contact: { id: UUID, tenantId: "t", companyId: OTHER, name: "n", contactKey: "n" },
  Lead: { id: UUID, tenantId: "t", name: "n" },
  TenantCounter: { tenantId: "t", name: "n", value: 1 },
  SearchDocument: { tenantId: "t", collection: "lead", recordId: "1", title: "n", eventId: UUID, appliedPosition: 1 },
  RagDocument: { tenantId: "t", collection: "article", recordId: "1", eventId: UUID, appliedPosition: 1 },
  RagChunk: { id: UUID, tenantId: "t", collection: "article", recordId: "other", ordinal: 0, text: "n", contentHash: HASH },
  AiCostEntry: { ...cost, eventId: UUID, recordedAt: NOW },
  AiCostDay: { ...cost, day: NOW, entries: 1, repeats: 0 },
  Opportunity: { id: UUID, tenantId: "t", number: 1, name: "n", contactId: OTHER, companyId: OTHER },
  Form: { id: UUID, tenantId: "t", name: "n", fields: "[]", routes: "[]" },
  FormSubmission: { id: UUID, tenantId: "t", formId: OTHER, formVersion: 1, data: {} },
  MarketingContact: { id: UUID, tenantId: "t", email: "a@x", emailKey: "a@x" },
  MarketingSuppression: { tenantId: "t", emailKey: "a@x", reason: "r" },
  PluginSubscription: { id: UUID, tenantId: "t", pluginId: "p", kind: "function", functionName: "f" },
  PluginQuota: { tenantId: "t", pluginId: "p", capability: "c", perMonth: 0 },
  PluginUsage: { tenantId: "t", pluginId: "p", capability: "c", period: "2030-01", used: 1 },
  ...WORKFLOW_ROWS,
};

const claimed = { status: "PROCESSING", lockedUntil: NOW, lockToken: UUID, claimMode: "batch" };
const consented = { consent: "granted", consentAt: NOW, consentSource: "form", consentPosition: 1 };
const done = { status: "DONE", processedAt: NOW, blocksLine: false };

const CASES: ConstraintCase[] = [
  ["OutboxEvent", "OutboxEvent_tenantId_check", { tenantId: "" }],
  ["OutboxEvent", "OutboxEvent_eventType_check", { eventType: "" }],
  ["OutboxEvent", "OutboxEvent_version_check", { version: 0 }],
  ...["attempts", "retries", "crashes", "generation", "effectEpoch", "depth"].map((column): ConstraintCase => [
    "OutboxEvent",
    "OutboxEvent_counters_check",
    { [column]: -1 },
  ]),
  ["OutboxEvent", "OutboxEvent_claim_check", { status: "PROCESSING" }],
  ["OutboxEvent", "OutboxEvent_claim_check", { ...claimed, lockToken: null }],
  ["OutboxEvent", "OutboxEvent_claim_check", { ...claimed, lockedUntil: null }],
  ["OutboxEvent", "OutboxEvent_claim_check", { ...claimed, claimMode: null }],
  ["OutboxEvent", "OutboxEvent_claim_check", { ...claimed, status: "PENDING" }],
  ["OutboxEvent", "OutboxEvent_claim_check", { lockedUntil: NOW }],
  ["OutboxEvent", "OutboxEvent_claim_check", { ...done, lockToken: UUID }],
  ["OutboxEvent", "OutboxEvent_claimMode_check", { ...claimed, claimMode: "other" }],
  ["OutboxEvent", "OutboxEvent_processedAt_check", { ...done, processedAt: null }],
  ["OutboxEvent", "OutboxEvent_processedAt_check", { processedAt: NOW }],
  ["OutboxEvent", "OutboxEvent_failed_check", { status: "FAILED" }],
  ["OutboxEvent", "OutboxEvent_blocksLine_check", { blocksLine: false }],
  ["OutboxEvent", "OutboxEvent_blocksLine_check", { ...claimed, blocksLine: false }],
  ["OutboxEvent", "OutboxEvent_blocksLine_check", { ...done, blocksLine: true }],
  ["OutboxEvent", "OutboxEvent_blocksLine_check", { status: "CANCELLED", blocksLine: true }],
  ["OutboxEvent", "OutboxEvent_replay_check", { replayConsumer: "c" }],
  ["OutboxReceipt", "OutboxReceipt_outcome_check", { outcome: "maybe" }],
  ["OutboxReceipt", "OutboxReceipt_effectEpoch_check", { effectEpoch: -1 }],
  ["OutboxReceipt", "OutboxReceipt_generation_check", { generation: -1 }],
  ["OutboxIntent", "OutboxIntent_state_check", { state: "other" }],
  ["OutboxIntent", "OutboxIntent_sending_check", { state: "sending" }],
  ["OutboxIntent", "OutboxIntent_sending_check", { token: UUID }],
  ["OutboxIntent", "OutboxIntent_sent_check", { state: "sent" }],
  ["OutboxIntent", "OutboxIntent_sent_check", { sentAt: NOW }],
  ["OutboxIntent", "OutboxIntent_counters_check", { attempts: -1, unknowns: -1 }],
  ["OutboxIntent", "OutboxIntent_counters_check", { unknowns: 1 }],
  ["OutboxDrainer", "OutboxDrainer_vote_check", { vote: "yes" }],
  ["OutboxMode", "OutboxMode_one_row_check", { id: 2 }],
  ["OutboxMode", "OutboxMode_mode_check", { mode: "other" }],
  ["OutboxMode", "OutboxMode_mode_check", { desired: "other" }],
  ["EmailDelivery", "EmailDelivery_state_check", { state: "other" }],
  ["WebhookEndpoint", "WebhookEndpoint_disabled_check", { enabled: false }],
  ["WebhookEndpoint", "WebhookEndpoint_disabled_check", { disabledAt: NOW }],
  ["AuditEntry", "AuditEntry_sequence_check", { sequence: 0 }],
  ["AuditEntry", "AuditEntry_hash_check", { hash: "short" }],
  ["AuditEntry", "AuditEntry_hash_check", { previousHash: "" }],
  ["Row", "Row_tenantId_check", { tenantId: "" }],
  ["Row", "Row_table_check", { table: "Orders" }],
  ["Row", "Row_level_check", { level: -1 }],
  ["Row", "Row_level_check", { level: 1 }],
  ["Row", "Row_level_check", { parentId: OTHER }],
  ["Row", "Row_data_check", { data: "[]" }],
  ["Row", "Row_revision_check", { revision: 0 }],
  ["RowField", "RowField_field_check", { field: "" }],
  ["RowField", "RowField_value_check", { lookupId: OTHER }],
  ["Company", "Company_tenantId_check", { tenantId: "" }],
  ["Contact", "Contact_tenantId_check", { tenantId: "" }],
  ["Lead", "Lead_tenantId_check", { tenantId: "" }],
  ["Lead", "Lead_status_check", { status: "lost" }],
  ["Lead", "Lead_converted_check", { status: "converted" }],
  ["Lead", "Lead_converted_check", { convertedAt: NOW }],
  ["TenantCounter", "TenantCounter_value_check", { value: 0 }],
  ["Opportunity", "Opportunity_tenantId_check", { tenantId: "" }],
  ["Opportunity", "Opportunity_number_check", { number: 0 }],
  ["Opportunity", "Opportunity_merged_check", { mergedAt: NOW }],
  ["SearchDocument", "SearchDocument_tenantId_check", { tenantId: "" }],
  ["SearchDocument", "SearchDocument_collection_check", { collection: "Lead" }],
  ["SearchDocument", "SearchDocument_recordId_check", { recordId: "" }],
  ["SearchDocument", "SearchDocument_attributes_check", { attributes: "[]" }],
  ["SearchDocument", "SearchDocument_effectEpoch_check", { effectEpoch: -1 }],
  ["SearchDocument", "SearchDocument_deleted_check", { title: "" }],
  ["SearchDocument", "SearchDocument_deleted_check", { deletedAt: NOW }],
  ["SearchDocument", "SearchDocument_deleted_check", { deletedAt: NOW, title: "", body: "b" }],
  ["SearchDocument", "SearchDocument_deleted_check", { deletedAt: NOW, title: "", attributes: '{"a":1}' }],
  ["RagDocument", "RagDocument_tenantId_check", { tenantId: "" }],
  ["RagDocument", "RagDocument_collection_check", { collection: "Article" }],
  ["RagDocument", "RagDocument_recordId_check", { recordId: "" }],
  ["RagDocument", "RagDocument_metadata_check", { metadata: "[]" }],
  ["RagDocument", "RagDocument_counters_check", { effectEpoch: -1 }],
  ["RagDocument", "RagDocument_counters_check", { revision: 0 }],
  ["RagDocument", "RagDocument_deleted_check", { deletedAt: NOW, title: "n" }],
  ["RagDocument", "RagDocument_deleted_check", { deletedAt: NOW, metadata: '{"a":1}' }],
  ["RagChunk", "RagChunk_ordinal_check", { ordinal: -1 }],
  ["RagChunk", "RagChunk_contentHash_check", { contentHash: "short" }],
  ["RagChunk", "RagChunk_vector_check", { embedding: [1] }],
  ["RagChunk", "RagChunk_vector_check", { model: "m", dimension: 1 }],
  ["RagChunk", "RagChunk_vector_check", { embedding: [], model: "m", dimension: 0 }],
  ["RagChunk", "RagChunk_vector_check", { embedding: [1, 2], model: "m", dimension: 1 }],
  ["RagChunk", "RagChunk_vector_check", { embedding: [[1], [2]], model: "m", dimension: 2 }],
  ["RagChunk", "RagChunk_vector_check", { embedding: [1, null], model: "m", dimension: 2 }],
  ["RagChunk", "RagChunk_vector_check", { embedding: ["NaN"], model: "m", dimension: 1 }],
  ["RagChunk", "RagChunk_vector_check", { embedding: ["-Infinity"], model: "m", dimension: 1 }],
  ["AiCostEntry", "AiCostEntry_tenantId_check", { tenantId: "" }],
  ["AiCostEntry", "AiCostEntry_model_check", { model: "" }],
  ["AiCostEntry", "AiCostEntry_currency_check", { currency: "eur" }],
  ["AiCostEntry", "AiCostEntry_amount_check", { amount: "NaN" }],
  ...["inputTokens", "outputTokens", "effectEpoch"].map((column): ConstraintCase => [
    "AiCostEntry",
    "AiCostEntry_counters_check",
    { [column]: -1 },
  ]),
  ...[{ entries: 0 }, { repeats: -1 }, { repeats: 2 }, { inputTokens: -1 }, { outputTokens: -1 }].map((changes): ConstraintCase => [
    "AiCostDay",
    "AiCostDay_counters_check",
    changes,
  ]),
  ["Form", "Form_tenantId_check", { tenantId: "" }],
  ["Form", "Form_fields_check", { fields: "{}" }],
  ["Form", "Form_routes_check", { routes: "{}" }],
  ["Form", "Form_version_check", { version: 0 }],
  ["FormSubmission", "FormSubmission_tenantId_check", { tenantId: "" }],
  ["FormSubmission", "FormSubmission_formVersion_check", { formVersion: 0 }],
  ["FormSubmission", "FormSubmission_data_check", { data: "[]" }],
  ["FormSubmission", "FormSubmission_submissionKey_check", { submissionKey: "" }],
  ["FormSubmission", "FormSubmission_routed_check", { leadId: OTHER }],
  ["MarketingContact", "MarketingContact_tenantId_check", { tenantId: "" }],
  ["MarketingContact", "MarketingContact_emailKey_check", { emailKey: "A@x" }],
  ["MarketingContact", "MarketingContact_emailKey_check", { emailKey: "" }],
  ["MarketingContact", "MarketingContact_attributes_check", { attributes: "[]" }],
  ["MarketingContact", "MarketingContact_consent_check", { ...consented, consent: "maybe" }],
  ["MarketingContact", "MarketingContact_consentPosition_check", { consent: "granted" }],
  ["MarketingContact", "MarketingContact_consentPosition_check", { ...consented, consent: "unknown" }],
  ["MarketingContact", "MarketingContact_revision_check", { revision: -1 }],
  ["MarketingContact", "MarketingContact_toldStatus_check", { callIntentId: UUID, toldStatus: "other" }],
  ["MarketingContact", "MarketingContact_call_check", { callIntentId: UUID }],
  ["MarketingContact", "MarketingContact_call_check", { toldStatus: "subscribed" }],
  ["MarketingContact", "MarketingContact_call_check", { callUntil: NOW }],
  ["MarketingSuppression", "MarketingSuppression_tenantId_check", { tenantId: "" }],
  ["MarketingSuppression", "MarketingSuppression_emailKey_check", { emailKey: "A@x" }],
  ["MarketingSuppression", "MarketingSuppression_reason_check", { reason: "" }],
  ["PluginSubscription", "PluginSubscription_tenantId_check", { tenantId: "" }],
  ["PluginSubscription", "PluginSubscription_pluginId_check", { pluginId: "" }],
  ["PluginSubscription", "PluginSubscription_kind_check", { kind: "other" }],
  ["PluginSubscription", "PluginSubscription_kind_check", { functionName: null }],
  ["PluginSubscription", "PluginSubscription_kind_check", { url: "https://x.example" }],
  ["PluginSubscription", "PluginSubscription_kind_check", { kind: "http", functionName: null, url: "https://x.example" }],
  ["PluginSubscription", "PluginSubscription_kind_check", { kind: "http", url: "https://x.example", secrets: "[]" }],
  ["PluginSubscription", "PluginSubscription_disabled_check", { enabled: false }],
  ["PluginQuota", "PluginQuota_perMonth_check", { perMonth: -1 }],
  ["PluginUsage", "PluginUsage_period_check", { period: "2030-13" }],
  ["PluginUsage", "PluginUsage_used_check", { used: 0 }],
  ...WORKFLOW_CASES,
];

/** What no row can break while the trigger fills it in; it has a test of its own. */
const BEHIND_TRIGGER = "OutboxEvent_recordKey_check";

let client: pg.Client;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createTestDatabase();
  ({ drop } = database);
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `DELETE FROM "OutboxMode"; INSERT INTO "EmailMessage" ("id", "eventId", "tenantId", "messageId", "fromAddress", "subject")
     VALUES ('${UUID}', '${UUID}', 't', 'm', 'f', 's');
     INSERT INTO "Row" ("id", "tenantId", "table", "data") VALUES ('${OTHER}', 't', 'orders', '{}');
     INSERT INTO "Company" ("id", "tenantId", "name", "nameKey") VALUES ('${OTHER}', 't', 'o', 'o');
     INSERT INTO "Contact" ("id", "tenantId", "companyId", "name", "contactKey") VALUES ('${OTHER}', 't', '${OTHER}', 'o', 'o');
     INSERT INTO "Lead" ("id", "tenantId", "name") VALUES ('${OTHER}', 't', 'o');
     INSERT INTO "RagDocument" ("tenantId", "collection", "recordId", "eventId", "appliedPosition")
     VALUES ('t', 'article', 'other', '${UUID}', 1);
     INSERT INTO "Form" ("id", "tenantId", "name", "fields", "routes") VALUES ('${OTHER}', 't', 'o', '[]', '[]');
     ${WORKFLOW_PARENTS}`,
  );
});

afterAll(async () => {
  await client.end();
  await drop();
});

/** Whether the table takes the row; it is not kept. */
async function accepts(table: string, row: Row): Promise<boolean> {
  await client.query("BEGIN");
  try {
    return (await insert(table, row)).rowCount === 1;
  } finally {
    await client.query("ROLLBACK");
  }
}

function insert(table: string, row: Row): Promise<pg.QueryResult> {
  const columns = Object.keys(row).map((column) => `"${column}"`);
  const places = columns.map((_, index) => `$${index + 1}`);
  return client.query(`INSERT INTO "${table}" (${columns.join(", ")}) VALUES (${places.join(", ")})`, Object.values(row));
}

test.each(CASES)("%s: %s refuses %j", async (table, constraint, changes) => {
  expect(violatedConstraint(await rejection(insert(table, { ...GOOD_ROWS[table], ...changes })))).toBe(constraint);
});

test.each(Object.entries(GOOD_ROWS))("%s accepts a good row", async (table, row) => {
  expect(await accepts(table, row)).toBe(true);
});

const STATES: Array<[table: string, changes: Row]> = [
  ["OutboxEvent", {}],
  ["OutboxEvent", claimed],
  ["OutboxEvent", { ...claimed, claimMode: "solo" }],
  ["OutboxEvent", done],
  ["OutboxEvent", { status: "CANCELLED", blocksLine: false }],
  ["OutboxEvent", { status: "FAILED", lastErrorCode: "X" }],
  ["OutboxEvent", { status: "FAILED", lastErrorCode: "X", blocksLine: false }],
  ...WORKFLOW_STATES,
];

test.each(STATES)("%s accepts the state %j", async (table, changes) => {
  expect(await accepts(table, { ...GOOD_ROWS[table], ...changes })).toBe(true);
});

test("every CHECK constraint of the schema has a case here", async () => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT conname AS "name" FROM pg_constraint WHERE contype = 'c' AND connamespace = current_schema()::regnamespace ORDER BY 1`,
  );
  expect(rows.map((row) => row.name)).toEqual([...new Set([...CASES.map(([, constraint]) => constraint), BEHIND_TRIGGER])].toSorted());
});

test("OutboxEvent: the trigger fills in a missing record key, and without the trigger the row is refused", async () => {
  await client.query("BEGIN");
  try {
    const update = `UPDATE "OutboxEvent" SET "recordKey" = NULL RETURNING "recordKey"`;
    await insert("OutboxEvent", { ...GOOD_ROWS["OutboxEvent"], payload: { object: "Lead", recordId: "7" } });
    expect((await client.query(update)).rows).toEqual([{ recordKey: "Lead/7" }]);
    await client.query(`ALTER TABLE "OutboxEvent" DISABLE TRIGGER "OutboxEvent_recordKey"`);
    expect(violatedConstraint(await rejection(client.query(update)))).toBe(BEHIND_TRIGGER);
  } finally {
    await client.query("ROLLBACK");
  }
});

test.each([
  `UPDATE "AuditEntry" SET "entry" = '1'`,
  `DELETE FROM "AuditEntry"`,
  `TRUNCATE "AuditEntry"`,
  `UPDATE "AiCostEntry" SET "amount" = '1'`,
  `DELETE FROM "AiCostEntry"`,
  `TRUNCATE "AiCostEntry"`,
])("the audit chain and the cost ledger are append-only: %s is refused", async (sql) => {
  expect(await rejection(client.query(sql))).toMatchObject({ code: "23001" });
});
