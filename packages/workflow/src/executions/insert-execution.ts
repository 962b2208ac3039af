import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import { describeError, type CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";
import { EXECUTION_COLUMNS, type Execution, type StartedBy } from "./execution.ts";

export interface NewExecution {
  readonly tenantId: string;
  readonly workflowId: string;
  readonly version: number;
  readonly startedBy: StartedBy;
  readonly input: JsonObject;
  readonly depth: number;
  readonly correlationId: string | null;
  /** At most one run per workflow and event. */
  readonly triggerEventId?: string;
  /** At most one run per workflow and key of the caller. */
  readonly requestKey?: string | undefined;
  /** Set for a run that ends before it begins. */
  readonly end: { readonly status: "rejected" | "skipped"; readonly error: CodedError } | null;
}

const INSERT = `INSERT INTO "WorkflowExecution" ("id", "tenantId", "workflowId", "version", "startedBy", "triggerEventId", "requestKey", "input", "depth",
  "correlationId", "status", "reasonCode", "reason", "finishedAt")
VALUES ($1::uuid, $2, $3::uuid, $4, $5, $6::uuid, $7, $8::jsonb, $9, $10, $11, $12, $13, CASE WHEN $11 = 'queued' THEN NULL ELSE clock_timestamp() END)
ON CONFLICT DO NOTHING RETURNING ${EXECUTION_COLUMNS}`;
const FIND = `SELECT ${EXECUTION_COLUMNS} FROM "WorkflowExecution" WHERE "workflowId" = $1::uuid AND ("triggerEventId" = $2::uuid OR "requestKey" = $3)`;

/**
 * Writes a run and, unless it has ended already, the event that has it run, in the caller's transaction. For the same workflow and event, or
 * key, the run that is there comes back.
 */
export async function insertExecution(tx: Queryable, input: NewExecution): Promise<{ execution: Execution; duplicate: boolean }> {
  const { tenantId, workflowId, version, startedBy, triggerEventId = null, requestKey = null, depth, correlationId, end } = input;
  const ended = end === null ? ["queued", null, null] : [end.status, end.error.code, describeError(end.error)];
  const values = [
    uuidv7(),
    tenantId,
    workflowId,
    version,
    startedBy,
    triggerEventId,
    requestKey,
    JSON.stringify(input.input),
    depth,
    correlationId,
  ];
  const { rows } = await tx.query<Execution>(INSERT, [...values, ...ended]);
  const execution = rows[0];
  if (execution === undefined) {
    const found = await findExecution(tx, input);
    if (found === undefined) throw new TypeError(`expected the run that stands in the way of another one of ${workflowId}, got none`);
    return { execution: found, duplicate: true };
  }
  if (end === null && startedBy !== "stream") await publishRequested(tx, execution);
  return { execution, duplicate: false };
}

/** The run that an event or a key has made of a workflow. Indexes: the unique ones of the two. */
export async function findExecution(
  tx: Queryable,
  { workflowId, triggerEventId, requestKey }: Pick<NewExecution, "workflowId" | "triggerEventId" | "requestKey">,
): Promise<Execution | undefined> {
  const { rows } = await tx.query<Execution>(FIND, [workflowId, triggerEventId ?? null, requestKey ?? null]);
  return rows[0];
}

async function publishRequested(tx: Queryable, { id, tenantId, depth, correlationId, triggerEventId }: Execution): Promise<void> {
  await publishOutboxEvent(outboxTransactionOf(tx), {
    tenantId,
    type: "workflow.execution.requested",
    payload: { executionId: id },
    depth,
    correlationId: correlationId ?? undefined,
    causationId: triggerEventId ?? undefined,
  });
}
