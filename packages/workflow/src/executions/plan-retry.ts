import { CodedError } from "@toolctrl/foundation/errors";
import type { WorkflowGraph } from "@toolctrl/foundation/workflows";
import type { Step } from "../runner/step.ts";
import type { Execution } from "./execution.ts";

/** What a repeat takes the place of. */
export interface RetryPlan<KnownStep> {
  /** The step that is repeated, in its latest turn. */
  readonly from: KnownStep;
  /** The step itself, and all of the run that follow from it. */
  readonly replaced: readonly KnownStep[];
}

/**
 * Which steps an ended run would repeat, told to do so from a node. Changes nothing.
 * @param steps those that stand, in the order in which they were made
 * @throws CodedError `WORKFLOW.STATE` while the run has not ended; `WORKFLOW.ARGUMENT` when it never came to that step, or when a step that has
 * failed would stay as it is: what waits for that one would never run
 */
export function planRetry<KnownStep extends Pick<Step, "id" | "nodeId" | "iteration" | "status">>(
  { id, status }: Pick<Execution, "id" | "status">,
  {
    graph,
    steps,
    nodeId,
  }: { readonly graph: Pick<WorkflowGraph, "followers">; readonly steps: readonly KnownStep[]; readonly nodeId: string },
): RetryPlan<KnownStep> {
  if (status !== "error" && status !== "success" && status !== "cancelled") {
    throw new CodedError("WORKFLOW.STATE", `expected a run that has ended after it began, got ${id} ${status}`, {
      facts: { executionId: id, status },
    });
  }
  const reached = steps.filter((step) => step.status !== "skipped");
  const from = reached.filter((step) => step.nodeId === nodeId).at(-1);
  if (from === undefined) {
    const known = [...new Set(reached.map((step) => step.nodeId))].join(", ");
    throw new CodedError("WORKFLOW.ARGUMENT", `expected a step that the run came to (${known}), got ${nodeId}`, {
      facts: { executionId: id, nodeId },
    });
  }
  const behind = graph.followers(from.nodeId);
  const replaced = steps.filter((step) => step.id === from.id || (behind.has(step.nodeId) && step.iteration >= from.iteration));
  const failed = steps.find((step) => step.status === "failed" && !replaced.includes(step))?.nodeId;
  if (failed !== undefined) {
    const why = `expected a repeat that takes in ${failed}, which has failed, got one from ${nodeId}: repeat it from ${failed} or a step that leads there`;
    throw new CodedError("WORKFLOW.ARGUMENT", why, { facts: { executionId: id, nodeId, failed } });
  }
  return { from, replaced };
}
