import type { StepView } from "@toolctrl/workflow/executions";
import type { ExecutionStatus } from "@toolctrl/foundation/workflows";
import type { Workflow } from "@toolctrl/workflow/definitions";
import type { Io } from "../io.ts";
import { paint } from "../output/table.ts";

const STYLES = {
  queued: "yellow",
  ready: "yellow",
  retry: "yellow",
  running: "cyan",
  calling: "cyan",
  waiting: "magenta",
  success: "green",
  done: "green",
  error: "red",
  failed: "red",
  rejected: "red",
  skipped: "dim",
  cancelled: "dim",
} as const satisfies Record<ExecutionStatus | StepView["status"], string>;

/** The status of a run or a step. */
export function formatRunStatus(io: Io, status: keyof typeof STYLES): string {
  return paint(io, STYLES[status], status);
}

/** What starts a workflow: `manual`, `row order`, `event billing.`. */
export function formatTrigger({ triggerType, triggerKey }: Pick<Workflow, "triggerType" | "triggerKey">): string {
  return triggerKey === null ? triggerType : `${triggerType} ${triggerKey}`;
}
