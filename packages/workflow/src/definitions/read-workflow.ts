import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { WORKFLOW_COLUMNS, type Workflow, type WorkflowKey } from "./workflow.ts";

const MAX_PAGE = 200;

/** @throws CodedError `WORKFLOW.NOT_FOUND` */
export async function readWorkflow(db: Queryable, { tenantId, workflowId }: WorkflowKey): Promise<Workflow> {
  const { rows } = await db.query<Workflow>(`SELECT ${WORKFLOW_COLUMNS} FROM "Workflow" WHERE "id" = $1::uuid AND "tenantId" = $2`, [
    workflowId,
    tenantId,
  ]);
  if (rows[0] === undefined) throw workflowNotFound(workflowId);
  return rows[0];
}

/** A tenant's workflows in the order in which they were made, at most 200, after the one named. Index: `Workflow_tenantId_id_idx`. */
export async function listWorkflows(
  db: Queryable,
  { tenantId, after = null }: { tenantId: string; after?: string | null },
): Promise<Workflow[]> {
  const { rows } = await db.query<Workflow>(
    `SELECT ${WORKFLOW_COLUMNS} FROM "Workflow" w WHERE w."tenantId" = $1 AND ($2::uuid IS NULL OR w."id" > $2::uuid) ORDER BY w."id" LIMIT ${MAX_PAGE}`,
    [tenantId, after],
  );
  return rows;
}

export function workflowNotFound(workflowId: string): CodedError {
  return new CodedError("WORKFLOW.NOT_FOUND", `expected a workflow ${workflowId}, got none`, { facts: { workflowId } });
}
