import { isCodedError } from "@toolctrl/foundation/errors";
import { retryOf } from "@toolctrl/foundation/workflows";
import { finishExecution } from "./finish-execution.ts";
import { publishContinue } from "./publish-continue.ts";
import type { Step } from "./step.ts";
import { nodeOf, type HeldRun } from "./take-turn.ts";
import { endStep, putOffStep } from "./write-steps.ts";

const MAX_BACKOFF_MS = 60 * 60 * 1000;

export interface StepFailure extends Pick<Step, "attempts" | "unknowns"> {
  readonly error: unknown;
  /** The wait that the other side asked for, ms. */
  readonly askedMs?: number | null;
  /** Whether another try can help; without it the error says so itself. */
  readonly retry?: boolean;
}

/** Records a try that failed: another one follows after a backoff, or the step has failed, and with it the run. */
export async function failStep(run: HeldRun, step: Step, failure: StepFailure): Promise<void> {
  const { tx, execution } = run;
  const { error, attempts, unknowns, askedMs } = failure;
  const { maxAttempts, backoffSeconds } = retryOf(nodeOf(run, step));
  const retry = failure.retry ?? (isCodedError(error) && error.retry);
  if (!retry || attempts >= maxAttempts) {
    await endStep(tx, step.id, { status: "failed", error, attempts, unknowns });
    return finishExecution(tx, execution, { status: "error", error });
  }
  const backoffMs = Math.min(backoffSeconds * 1000 * 2 ** (attempts - 1), MAX_BACKOFF_MS);
  const dueAt = new Date(execution.now.getTime() + Math.max(backoffMs, askedMs ?? 0));
  await putOffStep(tx, step.id, { error, attempts, unknowns, dueAt });
  await publishContinue(tx, execution, { reason: "retry", stepId: step.id, scheduledAt: dueAt });
}
