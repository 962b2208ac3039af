import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { EXECUTION_COLUMNS, type Execution, type ExecutionKey } from "./execution.ts";

/** A run under its lock, with the database's time at which it was got. */
export type LockedExecution = Execution & { readonly now: Date };

/**
 * Locks a run until the transaction ends. Everything that changes a run or its steps does this first: of two branches that end at once, the
 * second sees what the first has written, and so the join.
 *
 * Lock: the execution, before anything of the product. Index: the primary key. A crash here costs nothing.
 * @throws CodedError `WORKFLOW.NOT_FOUND`; 55P03 of the database when the lock is not given within `lock_timeout`
 */
export async function lockExecution(tx: Queryable, { tenantId, executionId }: ExecutionKey): Promise<LockedExecution> {
  const { rows } = await tx.query<LockedExecution>(
    `SELECT ${EXECUTION_COLUMNS}, clock_timestamp() AS "now" FROM "WorkflowExecution" WHERE "id" = $1::uuid AND "tenantId" = $2 FOR UPDATE`,
    [executionId, tenantId],
  );
  if (rows[0] === undefined) throw executionNotFound(executionId);
  return rows[0];
}

/** The error of whoever asks for a run that is not there. */
export function executionNotFound(executionId: string): CodedError {
  return new CodedError("WORKFLOW.NOT_FOUND", `expected a run ${executionId}, got none`, { facts: { executionId } });
}
