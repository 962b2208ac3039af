import { insertSteps } from "./write-steps.ts";
import type { HeldRun, Turn } from "./take-turn.ts";

/** `queued` → `running`, with the first step. */
export async function startExecution({ tx, execution, definition }: HeldRun): Promise<Turn> {
  await tx.query(
    `UPDATE "WorkflowExecution" SET "status" = 'running', "startedAt" = coalesce("startedAt", clock_timestamp()), "updatedAt" = clock_timestamp()
     WHERE "id" = $1::uuid`,
    [execution.id],
  );
  await insertSteps(tx, execution, [{ nodeId: definition.start, iteration: 0, status: "ready" }]);
  return { kind: "stepped" };
}
