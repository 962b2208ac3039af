import type { Queryable } from "@toolctrl/db/sql";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { StepStatus } from "../runner/step.ts";
import { EXECUTION_COLUMNS, type Execution, type ExecutionKey, type ExecutionStatus } from "./execution.ts";
import { executionNotFound } from "./lock-execution.ts";

const MAX_PAGE = 200;

/** A step as a person looks at it. */
export interface StepView {
  readonly id: string;
  readonly nodeId: string;
  readonly iteration: number;
  readonly retryEpoch: number;
  /** False once a repeat has taken its place. */
  readonly current: boolean;
  readonly status: StepStatus;
  readonly branch: string | null;
  readonly output: JsonValue;
  readonly attempts: number;
  readonly unknowns: number;
  readonly dueAt: Date | null;
  readonly errorCode: string | null;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

export type InputStatus = "open" | "submitted" | "expired" | "cancelled";

/** What a run asks or asked. */
export interface InputView {
  readonly id: string;
  readonly executionId: string;
  readonly stepId: string;
  readonly title: string;
  readonly assignee: string | null;
  readonly fields: JsonValue;
  readonly status: InputStatus;
  readonly value: JsonValue;
  readonly answeredBy: string | null;
  readonly expiresAt: Date | null;
  readonly answeredAt: Date | null;
}

export interface ExecutionView extends Execution {
  readonly steps: readonly StepView[];
  readonly inputs: readonly InputView[];
}

export const INPUT_COLUMNS = `"id"::text AS "id", "executionId"::text AS "executionId", "stepId"::text AS "stepId", "title", "assignee", "fields", "status", "value",
  "answeredBy", "expiresAt", "answeredAt"`;

/** A run with its steps, replaced ones too, and its questions. @throws CodedError `WORKFLOW.NOT_FOUND` */
export async function readExecution(db: Queryable, { tenantId, executionId }: ExecutionKey): Promise<ExecutionView> {
  const { rows } = await db.query<Execution>(
    `SELECT ${EXECUTION_COLUMNS} FROM "WorkflowExecution" WHERE "id" = $1::uuid AND "tenantId" = $2`,
    [executionId, tenantId],
  );
  if (rows[0] === undefined) throw executionNotFound(executionId);
  const steps = await db.query<StepView>(
    `SELECT "id"::text AS "id", "nodeId", "iteration", "retryEpoch", "current", "status", "branch", "output", "attempts", "unknowns", "dueAt", "errorCode",
       "error", "createdAt", "finishedAt" FROM "WorkflowStep" s WHERE s."executionId" = $1::uuid ORDER BY s."id"`,
    [executionId],
  );
  const inputs = await db.query<InputView>(
    `SELECT ${INPUT_COLUMNS} FROM "WorkflowInput" i WHERE i."stepId" = ANY ($1::uuid[]) ORDER BY i."id"`,
    [steps.rows.map(({ id }) => id)],
  );
  return { ...rows[0], steps: steps.rows, inputs: inputs.rows };
}

export interface ExecutionFilter {
  readonly tenantId: string;
  readonly workflowId?: string | undefined;
  readonly status?: ExecutionStatus | undefined;
  /** Older than this run. */
  readonly before?: string | undefined;
}

/** A tenant's runs, newest first, at most 200. Index: `WorkflowExecution_tenantId_id_idx`. */
export async function listExecutions(db: Queryable, { tenantId, workflowId, status, before }: ExecutionFilter): Promise<Execution[]> {
  const { rows } = await db.query<Execution>(
    `SELECT ${EXECUTION_COLUMNS} FROM "WorkflowExecution" e
     WHERE e."tenantId" = $1 AND ($2::uuid IS NULL OR e."workflowId" = $2::uuid) AND ($3::text IS NULL OR e."status" = $3) AND ($4::uuid IS NULL OR e."id" < $4::uuid)
     ORDER BY e."id" DESC LIMIT ${MAX_PAGE}`,
    [tenantId, workflowId ?? null, status ?? null, before ?? null],
  );
  return rows;
}

/** What a tenant's people are asked, oldest first, at most 200. Index: `WorkflowInput_open_idx`. */
export async function listOpenInputs(
  db: Queryable,
  { tenantId, after }: { tenantId: string; after?: string | undefined },
): Promise<InputView[]> {
  const { rows } = await db.query<InputView>(
    `SELECT ${INPUT_COLUMNS} FROM "WorkflowInput" i WHERE i."tenantId" = $1 AND i."status" = 'open' AND ($2::uuid IS NULL OR i."id" > $2::uuid)
     ORDER BY i."id" LIMIT ${MAX_PAGE}`,
    [tenantId, after ?? null],
  );
  return rows;
}
