import { CodedError } from "@toolctrl/foundation/errors";
import { MAX_ITERATIONS } from "@toolctrl/foundation/workflows";
import { advance } from "./advance.ts";
import { finishExecution } from "./finish-execution.ts";
import type { Step } from "./step.ts";
import { isOpen } from "./step.ts";
import type { HeldRun } from "./take-turn.ts";
import { endStep, insertSteps, type StepEnd } from "./write-steps.ts";

/** Records a step as done, with the steps that follow from it; the last one ends the run. All of it is one transaction with the step's effect. */
export async function completeStep(
  { tx, execution, graph, steps }: HeldRun,
  step: Step,
  end: Omit<Extract<StepEnd, { status: "done" }>, "status">,
): Promise<void> {
  await endStep(tx, step.id, { ...end, status: "done" });
  const now = steps.map((each) => (each.id === step.id ? ({ ...each, status: "done", branch: end.branch } as const) : each));
  const next = advance(graph, now, { ...step, status: "done", branch: end.branch });
  const turn = next.find(({ iteration }) => iteration > MAX_ITERATIONS);
  if (turn !== undefined) {
    const { nodeId } = turn;
    const why = `expected a loop to end within ${MAX_ITERATIONS} turns, got one more at ${nodeId}`;
    return finishExecution(tx, execution, { status: "error", error: new CodedError("WORKFLOW.LOOP_STOPPED", why, { facts: { nodeId } }) });
  }
  await insertSteps(tx, execution, next);
  const open = now.some(isOpen) || next.some(({ status }) => status === "ready");
  if (!open) await finishExecution(tx, execution, { status: "success" });
  else await markRunning({ tx, execution });
}

/** A run that waited goes on. */
async function markRunning({ tx, execution }: Pick<HeldRun, "tx" | "execution">): Promise<void> {
  if (execution.status === "running") return;
  await tx.query(`UPDATE "WorkflowExecution" SET "status" = 'running', "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`, [
    execution.id,
  ]);
}
