import { ID, TENANT, UUID } from "./seed-sql.ts";

/** The index, and the query that its comment names. */
export const WORKFLOW_QUERIES: Array<[index: string, sql: string]> = [
  [
    "Workflow_trigger_idx",
    `SELECT "id" FROM "Workflow" WHERE "tenantId" = 'tenant-7' AND "triggerType" = 'event' AND "triggerKey" = ANY ('{key 7,key}') AND "live"`,
  ],
  ["Workflow_tenantId_id_idx", `SELECT "id" FROM "Workflow" WHERE "tenantId" = 'tenant-7' AND "id" > '${ID}' ORDER BY "id" LIMIT 20`],
  [
    "WorkflowExecution_workflowId_triggerEventId_key",
    `SELECT "id" FROM "WorkflowExecution" WHERE "workflowId" = '${ID}' AND "triggerEventId" = '${ID}'`,
  ],
  [
    "WorkflowExecution_workflowId_requestKey_key",
    `SELECT "id" FROM "WorkflowExecution" WHERE "workflowId" = '${ID}' AND "requestKey" = 'key 7'`,
  ],
  [
    "WorkflowExecution_tenantId_id_idx",
    `SELECT "id" FROM "WorkflowExecution" WHERE "tenantId" = 'tenant-7' AND "id" < lpad('a00', 32, '0')::uuid ORDER BY "id" DESC LIMIT 20`,
  ],
  // What the database asks when a version is deleted.
  [
    "WorkflowExecution_workflowId_version_idx",
    `SELECT 1 FROM ONLY "WorkflowExecution" x WHERE "workflowId" = '${ID}' AND "version" = 1 FOR KEY SHARE OF x`,
  ],
  [
    "WorkflowExecution_state_idx",
    `SELECT "createdAt" FROM "WorkflowExecution" WHERE "status" = 'queued' ORDER BY "finishedAt", "createdAt" LIMIT 1`,
  ],
  [
    "WorkflowExecution_state_idx",
    `SELECT 1 FROM "WorkflowExecution" WHERE "status" = 'success' AND "finishedAt" > (SELECT clock_timestamp()) - interval '1 hour' LIMIT 100000`,
  ],
  [
    "WorkflowStep_identity_key",
    `SELECT "id" FROM "WorkflowStep" WHERE "executionId" = '${ID}' AND "nodeId" = 'a' AND "iteration" = 0 AND "retryEpoch" = 0`,
  ],
  ["WorkflowStep_identity_key", `SELECT "id" FROM "WorkflowStep" WHERE "executionId" = '${ID}' AND "current"`],
  ["WorkflowInput_stepId_key", `SELECT "id" FROM "WorkflowInput" WHERE "stepId" = ANY ('{${ID}}'::uuid[])`],
  [
    "WorkflowInput_open_idx",
    `SELECT "id" FROM "WorkflowInput" WHERE "tenantId" = 'tenant-7' AND "status" = 'open' AND "id" > '${ID}' ORDER BY "id" LIMIT 20`,
  ],
  ["WorkflowCredential_tenantId_name_key", `SELECT "id" FROM "WorkflowCredential" WHERE "tenantId" = 'tenant-7' AND "name" = 'name 7'`],
  ["BridgeNonce_expiresAt_idx", `DELETE FROM "BridgeNonce" WHERE "expiresAt" < now()`],
  [
    "ApplicationEvent_record_idx",
    `SELECT "id" FROM "ApplicationEvent" WHERE "tenantId" = 'tenant-7' AND "object" = 'Lead' AND "recordId" = '7' ORDER BY "id" DESC LIMIT 20`,
  ],
  ["ApiKey_hash_key", `SELECT "id" FROM "ApiKey" WHERE "hash" = lpad('7', 64, '0') AND "revokedAt" IS NULL`],
];

/** Enough rows that the planner takes the indexes; few nonces have expired, as it is when they are forgotten often, and few runs are open. */
export const WORKFLOW_FILL = `
INSERT INTO "Workflow" ("id", "tenantId", "name", "live", "triggerType", "triggerKey")
SELECT ${UUID}, ${TENANT}, 'w', n % 2 = 1, CASE WHEN n % 3 = 0 THEN 'row' ELSE 'event' END, 'key ' || n % 20 FROM generate_series(1, 3000) n;
INSERT INTO "WorkflowVersion" ("workflowId", "version", "definition")
SELECT ${UUID}, v, '{}' FROM generate_series(1, 50) n, generate_series(1, 3) v;
INSERT INTO "WorkflowExecution" ("id", "tenantId", "workflowId", "version", "startedBy", "triggerEventId", "requestKey", "input", "status", "finishedAt")
SELECT ${UUID}, ${TENANT}, lpad(to_hex(1 + n % 50), 32, '0')::uuid, 1 + n % 3, 'event', ${UUID}, 'key ' || n, '{}',
  CASE WHEN n % 20 = 0 THEN 'queued' ELSE 'success' END, CASE WHEN n % 20 > 0 THEN now() - n * interval '1 minute' END FROM generate_series(1, 3000) n;
INSERT INTO "WorkflowStep" ("id", "executionId", "nodeId") SELECT ${UUID}, ${UUID}, 'a' FROM generate_series(1, 3000) n;
INSERT INTO "WorkflowStep" ("id", "executionId", "nodeId", "iteration")
SELECT gen_random_uuid(), ${UUID}, 'b', turn FROM generate_series(1, 3000) n, generate_series(0, 2) turn;
INSERT INTO "WorkflowInput" ("id", "tenantId", "executionId", "stepId", "title", "fields", "status")
SELECT ${UUID}, ${TENANT}, ${UUID}, ${UUID}, 't', '[]', CASE WHEN n % 3 = 0 THEN 'open' ELSE 'expired' END FROM generate_series(1, 3000) n;
INSERT INTO "WorkflowCredential" ("id", "tenantId", "name", "header", "secret")
SELECT ${UUID}, ${TENANT}, 'name ' || n, 'h', '{}' FROM generate_series(1, 3000) n;
INSERT INTO "BridgeNonce" SELECT 'n' || n, now() + n * interval '1 second' FROM generate_series(-50, 3000) n;
INSERT INTO "ApplicationEvent" ("id", "tenantId", "type", "object", "recordId", "source", "data")
SELECT ${UUID}, ${TENANT}, 'saved', 'Lead', (n % 30)::text, 'request', '{}' FROM generate_series(1, 3000) n;
INSERT INTO "ApiKey" ("id", "tenantId", "name", "hash") SELECT ${UUID}, ${TENANT}, 'k', lpad(n::text, 64, '0') FROM generate_series(1, 3000) n`;
