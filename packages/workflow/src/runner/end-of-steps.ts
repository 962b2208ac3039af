import { CodedError } from "@toolctrl/foundation/errors";
import type { ExecutionEnd } from "./finish-execution.ts";
import type { Step } from "./step.ts";

/** How a run ends in which no step is open: a step that has failed, and what waits for it, are no part of a success. */
export function endOfSteps(steps: readonly Pick<Step, "nodeId" | "status">[]): ExecutionEnd {
  const failed = steps.find(({ status }) => status === "failed");
  if (failed === undefined) return { status: "success" };
  const why = `expected every step of the run to be done or skipped, got ${failed.nodeId} failed`;
  return { status: "error", error: new CodedError("WORKFLOW.STEP_FAILED", why, { facts: { nodeId: failed.nodeId } }) };
}
