import { assertNever } from "@toolctrl/foundation/errors";
import type { ExecutionView, StepView } from "@toolctrl/workflow/executions";
import { formatTime } from "../output/format-values.ts";
import { shellWord } from "../output/shell-word.ts";
import { retryCommand } from "./commands-to-run.ts";
import { fixOf } from "./fix-of.ts";

/** What an operator can do about a run, or what it waits for; null when there is nothing to do. */
export function nextStepOf(run: ExecutionView): string | null {
  switch (run.status) {
    case "queued":
      return `a worker takes it; \`toolctrl-cli outbox list --tenant ${shellWord(run.tenantId)} --type workflow.execution\` lists the event that asks for it`;
    case "running":
      return "it goes on by itself";
    case "waiting":
      return afterWait(run.steps);
    case "error":
    case "cancelled":
      return afterEnd(run);
    case "rejected":
    case "skipped":
      return fixOf(run.reasonCode);
    case "success":
      return null;
    default:
      return assertNever(run.status);
  }
}

function afterWait(steps: readonly StepView[]): string {
  const open = steps.filter(({ current }) => current);
  if (open.some(({ status }) => status === "waiting")) return "answer what it asks; it goes on then";
  const due = open
    .flatMap(({ status, dueAt }) => (status === "retry" && dueAt !== null ? [dueAt] : []))
    .toSorted((a, b) => a.getTime() - b.getTime());
  return due[0] === undefined ? "it goes on by itself" : `it tries again at ${formatTime(due[0])}`;
}

function afterEnd({ id, tenantId, status, steps }: ExecutionView): string | null {
  const reached = steps.filter((step) => step.current && step.status !== "skipped");
  const from = reached.findLast((step) => step.status === "failed") ?? reached.at(-1);
  if (from === undefined) return null;
  const command = retryCommand({ tenantId, executionId: id }, from.nodeId);
  return status === "error" ? `mend the cause, then \`${command}\`` : `\`${command}\` would have it go on from there`;
}
