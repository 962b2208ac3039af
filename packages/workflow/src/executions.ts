/** Runs of workflows: starting, answering, cancelling, repeating, reading them. */
export { cancelExecution } from "./executions/cancel-execution.ts";
export { countRuns, type RunCounts } from "./executions/count-runs.ts";
export { createExecutionsService, type WorkflowsExecutionsService } from "./executions/executions-service.ts";
export type { Execution, ExecutionKey, ExecutionStatus, StartedBy } from "./executions/execution.ts";
export { lockExecution } from "./executions/lock-execution.ts";
export { planRetry, type RetryPlan } from "./executions/plan-retry.ts";
export {
  listExecutions,
  listOpenInputs,
  readExecution,
  type ExecutionFilter,
  type ExecutionView,
  type InputView,
  type StepView,
} from "./executions/read-execution.ts";
export { retryFrom } from "./executions/retry-from.ts";
export type { RunRequest } from "./executions/start-run.ts";
export { submitInput, type Submission } from "./executions/submit-input.ts";
export { endLostStream } from "./executions/stream-run.ts";
