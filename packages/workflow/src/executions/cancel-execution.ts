import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { isTerminal } from "@toolctrl/foundation/workflows";
import { finishExecution } from "../runner/finish-execution.ts";
import { deepenExecution } from "./deepen-execution.ts";
import type { ExecutionKey, RunCause } from "./execution.ts";
import { lockExecution } from "./lock-execution.ts";

/**
 * Ends a run where it is: no further step runs, its questions close. A call that is on its way is not taken back.
 * @throws CodedError `WORKFLOW.NOT_FOUND`; `WORKFLOW.STATE` when it has ended; `WORKFLOW.LOOP_STOPPED`
 */
export async function cancelExecution(tx: Queryable, key: ExecutionKey & RunCause): Promise<void> {
  await deepenExecution(tx, key);
  const execution = await lockExecution(tx, key);
  if (isTerminal(execution.status)) {
    const { id, status } = execution;
    throw new CodedError("WORKFLOW.STATE", `expected a run that has not ended, got ${id} ${status}`, {
      facts: { executionId: id, status },
    });
  }
  await finishExecution(tx, execution, { status: "cancelled" });
}
