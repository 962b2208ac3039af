import type { RowEventContext } from "@toolctrl/domain/rows";
import type { Execution } from "../executions/execution.ts";

/** What an event says of where it comes from that a run publishes: one event further from the first one than the run itself. */
export function eventContextOf({
  triggerEventId,
  correlationId,
  depth,
}: Pick<Execution, "triggerEventId" | "correlationId" | "depth">): RowEventContext {
  return { depth: depth + 1, correlationId: correlationId ?? undefined, causationId: triggerEventId ?? undefined };
}
