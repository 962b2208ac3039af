import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { MAX_WORKFLOW_DEPTH, nativeGapsOf, type WorkflowDefinition } from "@toolctrl/foundation/workflows";
import { loopStopped } from "../executions/loop-stopped.ts";
import type { ExecutorKind } from "../executors/executor.ts";
import { evaluateCondition } from "../expressions.ts";

/**
 * What is known of a run before it is one.
 * - `run`: start it. `none`: the trigger's condition says no, so there is nothing to tell.
 * - `rejected`: it may not run. `skipped`: it could not be told whether it should. Both are recorded, with the reason.
 */
export type Preflight =
  | { readonly kind: "run" }
  | { readonly kind: "none" }
  | { readonly kind: "rejected" | "skipped"; readonly error: CodedError };

export interface Candidate {
  readonly definition: WorkflowDefinition;
  readonly input: JsonObject;
  readonly depth: number;
}

/** Judges a candidate for the executor that would run it. */
export function preflight({ definition, input, depth }: Candidate, executor: ExecutorKind): Preflight {
  // Each turn of a loop through events is one event deeper.
  if (depth >= MAX_WORKFLOW_DEPTH) return { kind: "rejected", error: loopStopped(depth) };
  const { trigger } = definition;
  try {
    const condition = "condition" in trigger ? trigger.condition : undefined;
    if (condition !== undefined && !evaluateCondition(condition, { trigger: input })) return { kind: "none" };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: "skipped", error };
  }
  const gap = executor === "native" ? nativeGapsOf(definition).find(({ reason }) => reason === "credential") : undefined;
  if (gap === undefined) return { kind: "run" };
  const why = `expected every block to run without a stored credential, got ${gap.nodeId} (${gap.block}) with one`;
  return {
    kind: "rejected",
    error: new CodedError("WORKFLOW.UNSUPPORTED_BLOCK", why, { facts: { nodeId: gap.nodeId, block: gap.block } }),
  };
}
