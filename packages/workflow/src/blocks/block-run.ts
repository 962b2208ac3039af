import type { Queryable } from "@toolctrl/db/sql";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { WorkflowNode } from "@toolctrl/foundation/workflows";
import type { LockedExecution } from "../executions/lock-execution.ts";
import type { Step } from "../runner/step.ts";
import type { RunVariables } from "../runner/variables.ts";

/** What a block runs with: the transaction in which its step is recorded, under the run's lock. */
export interface BlockRun<Block extends WorkflowNode["block"] = WorkflowNode["block"]> {
  readonly tx: Queryable;
  readonly execution: LockedExecution;
  readonly node: Extract<WorkflowNode, { block: Block }>;
  readonly step: Step;
  readonly variables: RunVariables;
}

/** `wait`: the step has asked a person, and ends when there is an answer. */
export type BlockEnd = { readonly kind: "done"; readonly branch: string; readonly output: JsonValue } | { readonly kind: "wait" };
