import { CodedError } from "@toolctrl/foundation/errors";
import { failStep } from "./fail-step.ts";
import { untilAbandoned } from "./rest.ts";
import type { HeldRun } from "./take-turn.ts";

/** Gives up the first call whose process is gone: what came of it will never be known. True when there was one. */
export async function abandonCalls(run: HeldRun): Promise<boolean> {
  const step = run.steps.find((each) => each.status === "calling" && untilAbandoned(run, each) === 0);
  if (step === undefined) return false;
  const why = `expected the call of ${step.nodeId} to be settled, got its process gone between the call and its answer`;
  const error = new CodedError("WORKFLOW.STEP_FAILED", why, { facts: { nodeId: step.nodeId } });
  await failStep(run, step, { error, retry: true, attempts: step.attempts, unknowns: step.unknowns + 1 });
  return true;
}
