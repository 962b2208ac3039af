/** What an execution can be. `skipped` and `rejected` are candidates that preflight kept from starting. */
export const EXECUTION_STATUSES = ["queued", "running", "waiting", "success", "error", "rejected", "skipped", "cancelled"] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** Nothing moves an execution on from these. */
export const TERMINAL_STATUSES = ["success", "error", "rejected", "skipped", "cancelled"] as const satisfies ExecutionStatus[];
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export function isTerminal(status: ExecutionStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly ExecutionStatus[]).includes(status);
}

/** Where steps run: in the worker, in the web app behind its bridge, or in both, each what it can. */
export const EXECUTOR_KINDS = ["native", "http", "hybrid"] as const;
export type ExecutorKind = (typeof EXECUTOR_KINDS)[number];

/** How many workflows may start each other in a row through events; the next one is stopped. */
export const MAX_WORKFLOW_DEPTH = 8;
/** How often one execution may go through a loop's nodes. */
export const MAX_ITERATIONS = 100;
