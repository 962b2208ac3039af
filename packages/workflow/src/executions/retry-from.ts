import type { Queryable } from "@toolctrl/db/sql";
import { insertSteps } from "../runner/write-steps.ts";
import { publishContinue } from "../runner/publish-continue.ts";
import { holdRun } from "../runner/take-turn.ts";
import { deepenExecution } from "./deepen-execution.ts";
import type { ExecutionKey, RunCause } from "./execution.ts";
import { planRetry } from "./plan-retry.ts";

/**
 * Has an ended run repeat a step and all that follow from it, in a new epoch: "a finished step never runs again" holds within each. The rows of
 * what is repeated stay, no longer current.
 * @param nodeId the step; its latest turn is repeated
 * @throws CodedError `WORKFLOW.NOT_FOUND`; `WORKFLOW.STATE` while the run has not ended; `WORKFLOW.ARGUMENT`: see {@link planRetry};
 * `WORKFLOW.LOOP_STOPPED`
 */
export async function retryFrom(
  tx: Queryable,
  key: ExecutionKey & RunCause & { readonly nodeId: string },
): Promise<{ retryEpoch: number; repeated: number }> {
  await deepenExecution(tx, key);
  const { execution, graph, steps } = await holdRun(tx, key);
  const { id } = execution;
  const { from: step, replaced } = planRetry(execution, { graph, steps, nodeId: key.nodeId });
  const retryEpoch = execution.retryEpoch + 1;
  await tx.query(`UPDATE "WorkflowStep" SET "current" = false WHERE "id" = ANY ($1::uuid[])`, [replaced.map(({ id: stepId }) => stepId)]);
  await tx.query(
    `UPDATE "WorkflowExecution" SET "status" = 'running', "retryEpoch" = $2, "reasonCode" = NULL, "reason" = NULL, "finishedAt" = NULL,
       "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`,
    [id, retryEpoch],
  );
  await insertSteps(tx, { id, retryEpoch }, [{ nodeId: step.nodeId, iteration: step.iteration, status: "ready" }]);
  await reopenCancelled(tx, id);
  await publishContinue(tx, execution, { reason: "retry-from" });
  return { retryEpoch, repeated: replaced.length };
}

/**
 * What was still open beside the failed step, and ended with the run, goes on with it, in the epoch it was in: a call whose answer was lost
 * keeps its key, and a question that was asked is open again. One that was answered, or ran out, before the run had seen it waits for the
 * turn that does: a step asks once.
 */
async function reopenCancelled(tx: Queryable, executionId: string): Promise<void> {
  await tx.query(
    `UPDATE "WorkflowInput" SET "status" = 'open' WHERE "status" = 'cancelled' AND "stepId" IN
       (SELECT "id" FROM "WorkflowStep" WHERE "executionId" = $1::uuid AND "current" AND "status" = 'cancelled')`,
    [executionId],
  );
  await tx.query(
    `UPDATE "WorkflowStep" s SET "finishedAt" = NULL,
       "status" = CASE WHEN EXISTS (SELECT 1 FROM "WorkflowInput" i WHERE i."stepId" = s."id") THEN 'waiting' ELSE 'ready' END
     WHERE s."executionId" = $1::uuid AND s."current" AND s."status" = 'cancelled'`,
    [executionId],
  );
}
