import { isTerminal } from "@toolctrl/foundation/workflows";
import type { ExecutionStatus } from "../executions/execution.ts";
import { nodeOf, type HeldRun } from "./take-turn.ts";
import type { Step } from "./step.ts";

/**
 * Why nothing can be done at a run now.
 * - `ended`: it has.
 * - `waiting`: for a person or a time; an event of its own wakes it.
 * - `busy`: another process calls somebody for it; `waitMs` from now that call is over, one way or the other.
 */
export type Rest =
  | { readonly kind: "ended"; readonly status: ExecutionStatus }
  | { readonly kind: "waiting" }
  | { readonly kind: "busy"; readonly waitMs: number };

/** Where a run stands in which no step can be run; what it waits for is written to its status. */
export async function rest(run: HeldRun): Promise<Rest> {
  const { tx, execution, steps } = run;
  if (isTerminal(execution.status)) return { kind: "ended", status: execution.status };
  const calling = steps.filter(({ status }) => status === "calling");
  if (calling.length > 0) return { kind: "busy", waitMs: Math.min(...calling.map((step) => untilAbandoned(run, step))) };
  await tx.query(
    `UPDATE "WorkflowExecution" SET "status" = 'waiting', "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid AND "status" <> 'waiting'`,
    [execution.id],
  );
  return { kind: "waiting" };
}

/** What a call may take beyond its own limit before it counts as lost, ms: its process settles it right after. */
const SETTLE_MS = 2000;

/** ms until a step's call counts as lost; 0 when it does. */
export function untilAbandoned(run: Pick<HeldRun, "graph">, step: Step): number {
  const node = nodeOf(run, step);
  const limitMs = node.block === "httpRequest" ? node.config.timeoutSeconds * 1000 : 0;
  return Math.max(0, limitMs + SETTLE_MS - (step.callingForMs ?? 0));
}
