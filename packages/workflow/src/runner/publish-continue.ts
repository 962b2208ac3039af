import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import type { Execution } from "../executions/execution.ts";

export interface Continuation {
  readonly reason: "input" | "expiry" | "retry" | "retry-from" | "stream";
  readonly stepId?: string;
  /** Not before then, by the database's clock. */
  readonly scheduledAt?: Date;
}

/**
 * Has the run be gone on with, now or later. Each is an event of its own line: one that is due in a month must not hold up the answer of today.
 */
export async function publishContinue(tx: Queryable, execution: Execution, { reason, stepId, scheduledAt }: Continuation): Promise<void> {
  const { id, tenantId, depth, correlationId, triggerEventId } = execution;
  await publishOutboxEvent(outboxTransactionOf(tx), {
    tenantId,
    type: "workflow.execution.continue.requested",
    payload: { executionId: id, reason, ...(stepId === undefined ? {} : { stepId }) },
    scheduledAt,
    depth,
    correlationId: correlationId ?? undefined,
    causationId: triggerEventId ?? undefined,
  });
}
