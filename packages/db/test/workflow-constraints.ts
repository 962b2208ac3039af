import { NOW, OTHER, UUID, type ConstraintCase, type Row } from "./constraint-rows.ts";

/** What the good rows refer to. */
export const WORKFLOW_PARENTS = `
  INSERT INTO "Workflow" ("id", "tenantId", "name", "triggerType") VALUES ('${OTHER}', 't', 'o', 'manual');
  INSERT INTO "WorkflowVersion" ("workflowId", "version", "definition") VALUES ('${OTHER}', 1, '{}');
  INSERT INTO "WorkflowExecution" ("id", "tenantId", "workflowId", "version", "startedBy", "input")
  VALUES ('${OTHER}', 't', '${OTHER}', 1, 'person', '{}');
  INSERT INTO "WorkflowStep" ("id", "executionId", "nodeId") VALUES ('${OTHER}', '${OTHER}', 'o')`;

export const WORKFLOW_ROWS: Record<string, Row> = {
  Workflow: { id: UUID, tenantId: "t", name: "n", triggerType: "manual" },
  WorkflowVersion: { workflowId: OTHER, version: 2, definition: {} },
  WorkflowExecution: { id: UUID, tenantId: "t", workflowId: OTHER, version: 1, startedBy: "person", input: {} },
  WorkflowStep: { id: UUID, executionId: OTHER, nodeId: "n" },
  WorkflowInput: { id: UUID, tenantId: "t", executionId: OTHER, stepId: OTHER, title: "n", fields: "[]" },
  WorkflowCredential: { id: UUID, tenantId: "t", name: "n", header: "h", secret: {} },
  BridgeNonce: { nonce: "n", expiresAt: NOW },
  ApplicationEvent: { id: UUID, tenantId: "t", type: "t", object: "o", recordId: "1", source: "request", data: {} },
  ApiKey: { id: UUID, tenantId: "t", name: "n", hash: "a".repeat(64) },
};

const ended = { finishedAt: NOW };
const refused = { finishedAt: NOW, reasonCode: "X" };
const calling = { status: "calling", token: UUID, callingSince: NOW };
const answered = { status: "submitted", value: "{}", answeredAt: NOW };

function casesOf(table: string, constraint: string, changes: readonly Row[]): ConstraintCase[] {
  return changes.map((change) => [table, `${table}_${constraint}_check`, change]);
}

export const WORKFLOW_CASES: ConstraintCase[] = [
  ...casesOf("Workflow", "tenantId", [{ tenantId: "" }]),
  ...casesOf("Workflow", "version", [{ version: 0 }]),
  ...casesOf("Workflow", "trigger", [
    { triggerType: "other" },
    { triggerType: "other", triggerKey: "k" },
    { triggerKey: "k" },
    ...["row", "form", "event"].map((triggerType) => ({ triggerType })),
  ]),
  ...casesOf("WorkflowVersion", "definition", [{ definition: "[]" }]),
  ...casesOf("WorkflowExecution", "tenantId", [{ tenantId: "" }]),
  ...casesOf("WorkflowExecution", "startedBy", [{ startedBy: "other" }]),
  ...casesOf("WorkflowExecution", "requestKey", [{ requestKey: "" }]),
  ...casesOf("WorkflowExecution", "input", [{ input: "[]" }]),
  ...casesOf("WorkflowExecution", "counters", [{ retryEpoch: -1 }, { depth: -1 }]),
  ...casesOf("WorkflowExecution", "status", [
    { status: "other" },
    { status: "other", ...refused },
    ...["queued", "running", "waiting"].map((status) => ({ status, ...ended })),
    ...["success", "cancelled"].map((status) => ({ status })),
    ...["error", "rejected", "skipped"].flatMap((status) => [
      { status, ...ended },
      { status, reasonCode: "X" },
    ]),
  ]),
  ...casesOf("WorkflowStep", "counters", [
    { iteration: -1 },
    { retryEpoch: -1 },
    { attempts: -1 },
    { attempts: -1, unknowns: -1 },
    { unknowns: -1 },
    { unknowns: 1 },
  ]),
  ...casesOf("WorkflowStep", "status", [
    { status: "other" },
    { status: "other", ...ended },
    ...["ready", "waiting", "retry"].flatMap((status) =>
      [{ token: UUID }, { callingSince: NOW }, ended].map((change) => ({ status, dueAt: NOW, ...change })),
    ),
    { status: "retry" },
    { ...calling, token: null },
    { ...calling, callingSince: null },
    { ...calling, ...ended },
    ...["done", "failed", "skipped", "cancelled"].flatMap((status) =>
      [{}, { ...ended, token: UUID }].map((change) => ({ status, branch: "b", errorCode: "X", ...change })),
    ),
    { status: "done", ...ended },
    { status: "failed", ...ended },
  ]),
  ...casesOf("WorkflowInput", "tenantId", [{ tenantId: "" }]),
  ...casesOf("WorkflowInput", "fields", [{ fields: "{}" }]),
  ...casesOf("WorkflowInput", "status", [
    { status: "other" },
    { ...answered, status: "other" },
    { ...answered, value: null },
    { ...answered, answeredAt: null },
    ...["open", "expired", "cancelled"].flatMap((status) =>
      [{ value: "{}" }, { answeredAt: NOW }, { answeredBy: "p" }].map((change) => ({ status, ...change })),
    ),
  ]),
  ...casesOf("WorkflowCredential", "tenantId", [{ tenantId: "" }]),
  ...casesOf("ApplicationEvent", "tenantId", [{ tenantId: "" }]),
  ...casesOf("ApplicationEvent", "source", [{ source: "other" }]),
  ...casesOf("ApiKey", "tenantId", [{ tenantId: "" }]),
  ...casesOf("ApiKey", "name", [{ name: "" }]),
  ...casesOf("ApiKey", "hash", [{ hash: "short" }]),
];

/** Every state that the tables have, and a row of it. */
export const WORKFLOW_STATES: Array<[table: string, changes: Row]> = [
  ...["row", "form", "event"].map((triggerType): [string, Row] => ["Workflow", { triggerType, triggerKey: "k" }]),
  ...["api", "stream", "row", "form", "event"].map((startedBy): [string, Row] => ["WorkflowExecution", { startedBy, requestKey: "k" }]),
  ...["running", "waiting"].map((status): [string, Row] => ["WorkflowExecution", { status, startedAt: NOW }]),
  ...["success", "cancelled"].map((status): [string, Row] => ["WorkflowExecution", { status, ...ended }]),
  ...["error", "rejected", "skipped"].map((status): [string, Row] => ["WorkflowExecution", { status, ...refused }]),
  ["WorkflowStep", { status: "waiting", attempts: 1 }],
  ["WorkflowStep", { status: "retry", dueAt: NOW, attempts: 1, unknowns: 1, errorCode: "X" }],
  ["WorkflowStep", { ...calling, attempts: 1 }],
  ["WorkflowStep", { status: "done", branch: "b", ...ended }],
  ["WorkflowStep", { status: "failed", errorCode: "X", ...ended }],
  ...["skipped", "cancelled"].map((status): [string, Row] => ["WorkflowStep", { status, ...ended }]),
  ["WorkflowInput", answered],
  ["WorkflowInput", { ...answered, answeredBy: "p" }],
  ...["expired", "cancelled"].map((status): [string, Row] => ["WorkflowInput", { status }]),
  ...["workflow", "system"].map((source): [string, Row] => ["ApplicationEvent", { source }]),
  ["ApiKey", { revokedAt: NOW }],
];
