import type { ExecutionKey } from "../executions/execution.ts";
import type { RunnerDeps } from "./deps.ts";
import { makeHttpCall } from "./make-http-call.ts";
import type { Rest } from "./rest.ts";
import { takeTurn } from "./take-turn.ts";

/** Where a run was left: at rest, or `interrupted` between two steps because the process is to end. */
export type RunEnd = Rest | { readonly kind: "interrupted" };

export interface RunOptions {
  /** Told after each recorded step. */
  readonly onStep?: () => Promise<void>;
  /** No further step is begun after so many ms. */
  readonly forMs?: number;
  /** No further step is begun once it aborts; a call that is on its way is waited for. */
  readonly stopping?: AbortSignal;
}

/**
 * Runs a run until nothing can be done at it: step by step, each recorded with its effect before the next one begins. It may be called for
 * the same run any number of times, at once too, in any process.
 * @param signal ends the call that is on its way, too: what came of it is then unknown
 * @throws CodedError `WORKFLOW.NOT_FOUND`, and errors of the database; then the run is as its last step left it
 */
export async function runExecution(deps: RunnerDeps, key: ExecutionKey, signal: AbortSignal, options: RunOptions = {}): Promise<RunEnd> {
  const { onStep, forMs = Number.POSITIVE_INFINITY, stopping } = options;
  const startedAt = performance.now();
  while (!signal.aborted && stopping?.aborted !== true && performance.now() - startedAt < forMs) {
    const turn = await takeTurn(deps, key);
    if (turn.kind === "call") await makeHttpCall(deps, key, turn.call, signal);
    else if (turn.kind !== "stepped") return turn;
    await onStep?.();
  }
  return { kind: "interrupted" };
}
