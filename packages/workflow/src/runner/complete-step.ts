import { CodedError } from "@toolctrl/foundation/errors";
import { MAX_ITERATIONS } from "@toolctrl/foundation/workflows";
import { advance, type NewStep } from "./advance.ts";
import { endOfSteps } from "./end-of-steps.ts";
import { failStep } from "./fail-step.ts";
import { finishExecution } from "./finish-execution.ts";
import { loadSteps } from "./load-steps.ts";
import type { Step } from "./step.ts";
import { isOpen } from "./step.ts";
import type { HeldRun } from "./take-turn.ts";
import { endStep, insertSteps, type StepEnd } from "./write-steps.ts";

/** Records a step as done, with the steps that follow from it; the last one ends the run. All of it is one transaction with the step's effect. */
export async function completeStep(run: HeldRun, step: Step, end: Omit<Extract<StepEnd, { status: "done" }>, "status">): Promise<void> {
  const { tx, execution, graph, steps } = run;
  await endStep(tx, step.id, { ...end, status: "done" });
  const now = steps.map((each) => (each.id === step.id ? ({ ...each, status: "done", branch: end.branch } as const) : each));
  const next = advance(graph, now, { ...step, status: "done", branch: end.branch });
  await insertSteps(tx, execution, next);
  // A turn that a person had repeated goes on to its own end, whichever it is.
  const turn = next.find(({ iteration }) => iteration > Math.max(MAX_ITERATIONS, step.iteration));
  if (turn !== undefined) return stopLoop(run, turn);
  const open = now.some(isOpen) || next.some(({ status }) => status === "ready");
  if (!open) await finishExecution(tx, execution, endOfSteps(now));
  else await markRunning({ tx, execution });
}

/** The first step of a turn that is one too many has failed before it began: what the last turn did stands. */
async function stopLoop(run: HeldRun, { nodeId, iteration }: NewStep): Promise<void> {
  const steps = await loadSteps(run.tx, run.execution.id);
  const step = steps.find((each) => each.nodeId === nodeId && each.iteration === iteration);
  if (step === undefined) throw new TypeError(`expected the step ${nodeId} that was just written, got none`);
  const why = `expected a loop to end within ${MAX_ITERATIONS} turns, got one more at ${nodeId}`;
  const error = new CodedError("WORKFLOW.LOOP_STOPPED", why, { facts: { nodeId } });
  await failStep(run, step, { error, retry: false, attempts: 0, unknowns: 0 });
}

/** A run that waited goes on. */
async function markRunning({ tx, execution }: Pick<HeldRun, "tx" | "execution">): Promise<void> {
  if (execution.status === "running") return;
  await tx.query(`UPDATE "WorkflowExecution" SET "status" = 'running', "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`, [
    execution.id,
  ]);
}
