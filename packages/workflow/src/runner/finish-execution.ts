import { publishOutboxEvent, outboxTransactionOf } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { Execution } from "../executions/execution.ts";
import { eventContextOf } from "./event-context.ts";
import { cancelOpenSteps } from "./write-steps.ts";

/** How a run ends. */
export type ExecutionEnd = { readonly status: "success" | "cancelled" } | { readonly status: "error"; readonly error: unknown };

/**
 * Ends a run: its status, what it still asked for, and the plugins' hook, in one transaction. The run's lock is held.
 * `plugin.hook.workflow.executed` tells of a success, `plugin.hook.workflow.failed` of every other end.
 */
export async function finishExecution(tx: Queryable, execution: Execution, end: ExecutionEnd): Promise<void> {
  const { id, tenantId, workflowId, version } = execution;
  const reasonCode = end.status === "error" ? errorCodeOf(end.error) : null;
  const reason = end.status === "error" ? describeError(end.error) : null;
  await cancelOpenSteps(tx, id);
  await tx.query(
    `UPDATE "WorkflowExecution" SET "status" = $2, "reasonCode" = $3, "reason" = $4, "finishedAt" = clock_timestamp(), "updatedAt" = clock_timestamp()
     WHERE "id" = $1::uuid`,
    [id, end.status, reasonCode, reason],
  );
  await publishOutboxEvent(outboxTransactionOf(tx), {
    ...eventContextOf(execution),
    tenantId,
    type: end.status === "success" ? "plugin.hook.workflow.executed" : "plugin.hook.workflow.failed",
    payload: { executionId: id, workflowId, version, status: end.status, reasonCode, reason },
  });
}
