import { eventCauseOf } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import { MAX_WORKFLOW_DEPTH } from "@toolctrl/foundation/workflows";
import type { ExecutionKey, RunCause } from "./execution.ts";
import { loopStopped } from "./loop-stopped.ts";

/**
 * Makes a run as deep as what has it go on or end, before that is done. A program that a run's call has led to, and that has the run repeat the
 * call, would else begin at the run's own depth each time, without end.
 *
 * Lock: the execution where it gets deeper, before anything of its own, as `lockExecution` does. Index: the primary key. A crash here costs nothing.
 * @throws CodedError `WORKFLOW.LOOP_STOPPED` for what is as deep as loops are stopped
 */
export async function deepenExecution(
  tx: Queryable,
  { tenantId, executionId, depth = eventCauseOf(tx).depth ?? 0 }: ExecutionKey & RunCause,
): Promise<void> {
  if (depth === 0) return;
  if (depth >= MAX_WORKFLOW_DEPTH) throw loopStopped(depth);
  await tx.query(`UPDATE "WorkflowExecution" SET "depth" = $3 WHERE "id" = $1::uuid AND "tenantId" = $2 AND "depth" < $3`, [
    executionId,
    tenantId,
    depth,
  ]);
}
