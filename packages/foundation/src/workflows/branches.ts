import { BLOCKS, type BlockId } from "./block-ids.ts";
import type { WorkflowNode } from "./nodes.ts";

/** The branches of a node: those that need an edge, and those that end where they have none. */
export interface Branches {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/** The names of all branches a node can leave by; a `switch` has one for each case. */
export function branchesOf(node: WorkflowNode): string[] {
  const { required, optional } = branchesOfBlock(node.block, node.block === "switch" ? node.config.cases : []);
  return [...required, ...optional];
}

export function branchesOfBlock(block: BlockId, cases: ReadonlyArray<{ readonly name: string }>): Branches {
  const { requiredBranches, optionalBranches } = BLOCKS[block];
  return { required: [...requiredBranches, ...cases.map(({ name }) => name)], optional: optionalBranches };
}
