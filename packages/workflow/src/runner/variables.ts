import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import type { Execution } from "../executions/execution.ts";
import type { Step } from "./step.ts";

/** What expressions and templates of a run see. */
export interface RunVariables extends JsonObject {
  readonly trigger: JsonObject;
  /** By node: what its step gave, in its latest turn. */
  readonly steps: { readonly [nodeId: string]: JsonValue };
  readonly run: { readonly id: string; readonly workflowId: string };
}

/** The variables of a run at this moment. A step that has not ended, or was skipped, is not there. */
export function variablesOf(execution: Pick<Execution, "id" | "workflowId" | "input">, steps: readonly Step[]): RunVariables {
  const done = steps.filter(({ status }) => status === "done").sort((a, b) => a.iteration - b.iteration);
  return {
    trigger: execution.input,
    // A node's id is a slug of the definition's schema: no key can be a name of the language.
    steps: Object.fromEntries(done.map(({ nodeId, output }) => [nodeId, output])),
    run: { id: execution.id, workflowId: execution.workflowId },
  };
}
