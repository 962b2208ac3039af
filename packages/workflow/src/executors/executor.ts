import type { EXECUTOR_KINDS } from "@toolctrl/foundation/workflows";
import type { ExecutionKey } from "../executions/execution.ts";
import type { RunEnd } from "../runner/run-execution.ts";

export type ExecutorKind = (typeof EXECUTOR_KINDS)[number];

/** Gets a run run, here or elsewhere, until nothing can be done at it. */
export interface Executor {
  /** @throws what makes the delivery worth trying again: a database or a web app that is away */
  execute(key: ExecutionKey, signal: AbortSignal): Promise<RunEnd>;
}
