import type { SpanOptions } from "@toolctrl/tracing/spans";
import type { Step } from "./step.ts";

/** Which step of which run a span is about: ids and counts, nothing of what it reads. */
export function stepSpan(
  executionId: string,
  { nodeId, iteration, attempts }: Pick<Step, "nodeId" | "iteration" | "attempts">,
): SpanOptions {
  return {
    attributes: {
      "toolctrl.execution": executionId,
      "toolctrl.node": nodeId,
      "toolctrl.iteration": iteration,
      "toolctrl.try": attempts + 1,
    },
  };
}
