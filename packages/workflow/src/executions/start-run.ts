import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { listSchemaProblems, problemLines } from "@toolctrl/foundation/schema-problems";
import { inputValueSchema, type WorkflowDefinition } from "@toolctrl/foundation/workflows";
import { loadDefinition } from "../definitions/load-definition.ts";
import { readWorkflow } from "../definitions/read-workflow.ts";
import type { WorkflowKey } from "../definitions/workflow.ts";
import type { ExecutorKind } from "../executors/executor.ts";
import { preflight } from "../triggers/preflight.ts";
import type { Execution, RunCause } from "./execution.ts";
import { findExecution, insertExecution } from "./insert-execution.ts";

export interface RunRequest extends WorkflowKey, RunCause {
  readonly startedBy: "person" | "api" | "stream";
  /** As the manual trigger's fields ask; for other triggers, what their event would have given. */
  readonly input?: JsonObject | undefined;
  /** The caller's own key: a second request with it is the first one's run again. */
  readonly requestKey?: string | undefined;
}

/**
 * Records a run of a live workflow and publishes `workflow.execution.requested` in the caller's transaction. Nothing is executed here. A run that
 * its executor could not do is recorded as `rejected`, with the reason. With a key that was used before the run that it made comes back, whatever
 * has become of the workflow.
 * @throws CodedError `WORKFLOW.NOT_FOUND`; `WORKFLOW.NOT_LIVE`; `WORKFLOW.INPUT_INVALID` with what is wrong in each field
 */
export async function startRun(
  tx: Queryable,
  request: RunRequest,
  executor: ExecutorKind,
): Promise<{ execution: Execution; duplicate: boolean }> {
  const { tenantId, workflowId, startedBy, requestKey, depth = 0 } = request;
  const workflow = await readWorkflow(tx, request);
  // Before anything is judged: what made the first one a run may not hold any more.
  const first = requestKey === undefined ? undefined : await findExecution(tx, { workflowId, requestKey });
  if (first !== undefined) return { execution: first, duplicate: true };
  if (!workflow.live) {
    throw new CodedError("WORKFLOW.NOT_LIVE", `expected workflow ${workflowId} to be live, got it switched off`, { facts: { workflowId } });
  }
  const { definition } = await loadDefinition(tx, { workflowId, version: workflow.version });
  const input = checkInput(definition, request.input ?? {});
  const verdict = preflight({ definition: { ...definition, trigger: { type: "manual" } }, input, depth }, executor);
  const end = verdict.kind === "rejected" || verdict.kind === "skipped" ? { status: verdict.kind, error: verdict.error } : null;
  return insertExecution(tx, {
    tenantId,
    workflowId,
    version: workflow.version,
    startedBy,
    requestKey,
    input,
    depth,
    correlationId: null,
    end,
  });
}

function checkInput({ trigger }: WorkflowDefinition, input: JsonObject): JsonObject {
  if (trigger.type !== "manual") return input;
  const parsed = inputValueSchema({ fields: trigger.input ?? [] }).safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = listSchemaProblems(parsed.error);
  throw new CodedError(
    "WORKFLOW.INPUT_INVALID",
    `expected an input that fits the trigger's fields, got:\n${problemLines(problems, "input")}`,
    {
      facts: { problems },
    },
  );
}
