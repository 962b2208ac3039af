import { transaction } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { isTerminal, type WorkflowDefinition } from "@toolctrl/foundation/workflows";
import { inSpan } from "@toolctrl/tracing/spans";
import { runBlock } from "../blocks/run-block.ts";
import { loadDefinition, type LoadedDefinition } from "../definitions/load-definition.ts";
import type { ExecutionKey } from "../executions/execution.ts";
import { lockExecution, type LockedExecution } from "../executions/lock-execution.ts";
import { beginHttpCall, type BegunCall } from "./begin-http-call.ts";
import type { RunnerDeps } from "./deps.ts";
import { completeStep } from "./complete-step.ts";
import { endOfSteps } from "./end-of-steps.ts";
import { failStep } from "./fail-step.ts";
import { finishExecution } from "./finish-execution.ts";
import { isStepFailure } from "./is-step-failure.ts";
import { loadSteps } from "./load-steps.ts";
import { rest, type Rest } from "./rest.ts";
import { settleAnswers } from "./settle-answers.ts";
import { abandonCalls } from "./abandon-calls.ts";
import { startExecution } from "./start-execution.ts";
import { stepSpan } from "./step-span.ts";
import { isOpen, type Step } from "./step.ts";
import { variablesOf } from "./variables.ts";

/**
 * What came of a turn at a run: `stepped`, and there may be more to do; `call`, a request is to be made now; otherwise nothing can be done
 * at this moment.
 */
export type Turn = { readonly kind: "stepped" } | { readonly kind: "call"; readonly call: BegunCall } | Rest;

/** A run under its lock, and all of it that a turn reads. */
export interface HeldRun extends LoadedDefinition {
  readonly tx: Queryable;
  readonly execution: LockedExecution;
  readonly steps: readonly Step[];
}

/**
 * One turn at a run, in one transaction under its lock: the first step that can be run is run, and recorded with its effect and with the steps
 * that follow. A crash anywhere in it leaves the run as it was; two processes at one run take their turns one after the other.
 *
 * A block that fails takes its writes with it; that it failed is then recorded in a transaction of its own.
 * @throws CodedError `WORKFLOW.NOT_FOUND`, and errors of the database
 */
export async function takeTurn(deps: RunnerDeps, key: ExecutionKey): Promise<Turn> {
  let running: Step | null = null;
  try {
    return await transaction(deps.pool, async (tx) => {
      const run = await holdRun(tx, key);
      if (isTerminal(run.execution.status)) return rest(run);
      if (run.execution.status === "queued") return startExecution(run);
      if ((await settleAnswers(run)) || (await abandonCalls(run))) return { kind: "stepped" };
      const step = run.steps.find(isRunnable);
      if (step === undefined) return endOrRest(run);
      running = step;
      return runStep(deps, run, step);
    });
  } catch (error) {
    if (running === null || !isStepFailure(error)) throw error;
    return recordFailure(deps, key, running, error);
  }
}

/** Locks a run, and reads its definition and its steps under the lock. */
export async function holdRun(tx: Queryable, key: ExecutionKey): Promise<HeldRun> {
  const execution = await lockExecution(tx, key);
  const loaded = await loadDefinition(tx, execution);
  return { tx, execution, ...loaded, steps: await loadSteps(tx, execution.id) };
}

async function runStep(deps: RunnerDeps, run: HeldRun, step: Step): Promise<Turn> {
  const { tx, execution, steps } = run;
  const node = nodeOf(run, step);
  const variables = variablesOf(execution, steps);
  if (node.block === "httpRequest") return { kind: "call", call: await beginHttpCall(deps, { tx, execution, node, step, variables }) };
  const end = await inSpan(`step ${node.block}`, stepSpan(execution.id, step), () => runBlock({ tx, execution, node, step, variables }));
  if (end.kind === "done") await completeStep(run, step, { ...end, attempts: step.attempts + 1, unknowns: step.unknowns });
  return { kind: "stepped" };
}

/** Only while the step is as it was: what another process has made of it meanwhile stands. */
async function recordFailure(deps: RunnerDeps, key: ExecutionKey, { id, attempts }: Step, error: unknown): Promise<Turn> {
  await transaction(deps.pool, async (tx) => {
    const run = await holdRun(tx, key);
    const step = run.steps.find((each) => each.id === id && isRunnable(each) && each.attempts === attempts);
    if (isTerminal(run.execution.status) || step === undefined) return;
    await failStep(run, step, { error, attempts: attempts + 1, unknowns: step.unknowns });
  });
  return { kind: "stepped" };
}

/** The answers of people that came while the last step ran were looked for in this same turn: a run never rests beside one. */
async function endOrRest(run: HeldRun): Promise<Turn> {
  if (run.steps.some(isOpen)) return rest(run);
  const end = endOfSteps(run.steps);
  await finishExecution(run.tx, run.execution, end);
  return { kind: "ended", status: end.status };
}

function isRunnable({ status, waitMs }: Step): boolean {
  return status === "ready" || (status === "retry" && waitMs === 0);
}

/** @throws TypeError when the run's version has no such node: versions never change. */
export function nodeOf({ graph }: Pick<HeldRun, "graph">, { nodeId }: Pick<Step, "nodeId">): WorkflowDefinition["nodes"][number] {
  const node = graph.nodes.get(nodeId);
  if (node === undefined) throw new TypeError(`expected a node ${nodeId} in the run's version, got none`);
  return node;
}
