import type { Queryable } from "@toolctrl/db/sql";
import { checkWorkflow } from "@toolctrl/foundation/workflows";
import { uuidv7 } from "uuidv7";
import { checkWorkflowTexts } from "./check-workflow-texts.ts";
import { triggerKeyOf, WORKFLOW_COLUMNS, type Workflow, type WorkflowKey } from "./workflow.ts";
import { workflowNotFound } from "./read-workflow.ts";

/** The definition, and how it is looked up. @throws CodedError `WORKFLOW.DEFINITION`, `WORKFLOW.EXPRESSION`, `WORKFLOW.TEMPLATE` */
function check(input: unknown) {
  const definition = checkWorkflow(input);
  checkWorkflowTexts(definition);
  return { definition, name: definition.name, triggerType: definition.trigger.type, triggerKey: triggerKeyOf(definition) };
}

/**
 * Adds a workflow with its first version; nothing starts it until it is live.
 * @throws CodedError `WORKFLOW.DEFINITION`, `WORKFLOW.EXPRESSION`, `WORKFLOW.TEMPLATE` with everything that is wrong
 */
export async function createWorkflow(
  tx: Queryable,
  { tenantId, definition: input }: { tenantId: string; definition: unknown },
): Promise<Workflow> {
  const { definition, name, triggerType, triggerKey } = check(input);
  const { rows } = await tx.query<Workflow>(
    `INSERT INTO "Workflow" ("id", "tenantId", "name", "triggerType", "triggerKey") VALUES ($1::uuid, $2, $3, $4, $5) RETURNING ${WORKFLOW_COLUMNS}`,
    [uuidv7(), tenantId, name, triggerType, triggerKey],
  );
  const workflow = one(rows);
  await insertVersion(tx, workflow, definition);
  return workflow;
}

/**
 * Gives a workflow its next version. Runs that have started keep theirs.
 * Lock: the workflow. Index: the primary key.
 * @throws CodedError `WORKFLOW.NOT_FOUND`, and what {@link createWorkflow} throws
 */
export async function updateWorkflow(tx: Queryable, { tenantId, workflowId }: WorkflowKey, input: unknown): Promise<Workflow> {
  const { definition, name, triggerType, triggerKey } = check(input);
  const { rows } = await tx.query<Workflow>(
    `UPDATE "Workflow" SET "name" = $3, "triggerType" = $4, "triggerKey" = $5, "version" = "version" + 1, "updatedAt" = clock_timestamp()
     WHERE "id" = $1::uuid AND "tenantId" = $2 RETURNING ${WORKFLOW_COLUMNS}`,
    [workflowId, tenantId, name, triggerType, triggerKey],
  );
  if (rows[0] === undefined) throw workflowNotFound(workflowId);
  await insertVersion(tx, rows[0], definition);
  return rows[0];
}

/** Lets a workflow be started, or no longer; runs that have started go on. @throws CodedError `WORKFLOW.NOT_FOUND` */
export async function switchWorkflow(tx: Queryable, { tenantId, workflowId }: WorkflowKey, live: boolean): Promise<Workflow> {
  const { rows } = await tx.query<Workflow>(
    `UPDATE "Workflow" SET "live" = $3, "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid AND "tenantId" = $2 RETURNING ${WORKFLOW_COLUMNS}`,
    [workflowId, tenantId, live],
  );
  if (rows[0] === undefined) throw workflowNotFound(workflowId);
  return rows[0];
}

async function insertVersion(tx: Queryable, { id, version }: Pick<Workflow, "id" | "version">, definition: unknown): Promise<void> {
  await tx.query(`INSERT INTO "WorkflowVersion" ("workflowId", "version", "definition") VALUES ($1::uuid, $2, $3::jsonb)`, [
    id,
    version,
    JSON.stringify(definition),
  ]);
}

function one<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined) throw new TypeError("expected the statement to return a row, got none");
  return row;
}
