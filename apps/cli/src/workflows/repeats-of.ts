import type { Queryable } from "@toolctrl/db/sql";
import type { BlockId } from "@toolctrl/foundation/workflows";
import type { ExecutionView, StepView } from "@toolctrl/workflow/executions";

/** A step that would be repeated. */
export interface Repeat {
  readonly nodeId: string;
  readonly block: BlockId;
  readonly iteration: number;
  /** How it stands now. */
  readonly status: StepView["status"];
  readonly errorCode: string | null;
  /** What happens a second time; null when it has done nothing that a person could see. */
  readonly again: string | null;
}

/** What a block does to the world, told as its second time. */
const AGAIN: Readonly<Record<BlockId, string | null>> = {
  email: "the mail is sent again",
  httpRequest: "the call is made again, with an Idempotency-Key of its own",
  if: null,
  switch: null,
  rowCreate: "a second row is made",
  rowUpdate: "the row is changed again",
  rowDelete: "the row is deleted again",
  waitForInput: "the question is asked again",
};

/**
 * What a run repeats, told to do so from a node; steps that no way led to are left out.
 * @throws CodedError `WORKFLOW.STATE`, `WORKFLOW.ARGUMENT`
 */
export async function repeatsOf(db: Queryable, run: ExecutionView, nodeId: string): Promise<Repeat[]> {
  const [{ planRetry }, { loadDefinition }] = await Promise.all([
    import("@toolctrl/workflow/executions"),
    import("@toolctrl/workflow/definitions"),
  ]);
  const { graph } = await loadDefinition(db, run);
  const { replaced } = planRetry(run, { graph, steps: run.steps.filter(({ current }) => current), nodeId });
  return replaced.flatMap((step) => {
    const block = graph.nodes.get(step.nodeId)?.block;
    if (block === undefined || step.status === "skipped") return [];
    const { iteration, status, errorCode } = step;
    return [{ nodeId: step.nodeId, block, iteration, status, errorCode, again: hasEffect(block, step) ? AGAIN[block] : null }];
  });
}

/** A step that is not done has left nothing behind, but for a question that was asked and a call that the other side may have seen. */
function hasEffect(block: BlockId, { status, attempts }: StepView): boolean {
  return status === "done" || ((block === "httpRequest" || block === "waitForInput") && attempts > 0);
}
