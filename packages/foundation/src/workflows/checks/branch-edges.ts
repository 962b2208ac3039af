import type { SchemaProblem } from "../../schema-problems.ts";
import { quote, suggestion } from "../suggest.ts";
import type { Outline, OutlineNode } from "./outline.ts";

/** Each edge on a branch that its node has, and an edge on each branch that needs one. */
export function checkBranchEdges(outline: Outline): SchemaProblem[] {
  const { nodes, edges } = outline;
  const first = new Map(nodes.toReversed().map((node) => [node.id, node]));
  const unknown = edges.flatMap(({ from, branch }, index) => checkBranch(first.get(from), branch, `edges.${index}.branch`));
  const missing = nodes.flatMap((node, index) => (first.get(node.id) === node ? checkRequired(node, `nodes.${index}`, outline) : []));
  return [...unknown, ...missing];
}

function checkBranch(node: OutlineNode | undefined, branch: string, path: string): SchemaProblem[] {
  if (node === undefined || node.branches === null) return [];
  const branches = [...node.branches.required, ...node.branches.optional];
  if (branches.includes(branch)) return [];
  const expected = branches.length === 1 ? `expected ${branches[0]}, the branch` : `expected one of ${branches.join(", ")}, the branches`;
  return [{ path, message: `${expected} of ${quote(node.id)} (${node.block}), got ${quote(branch)}${suggestion(branch, branches)}` }];
}

function checkRequired(node: OutlineNode, path: string, { links }: Outline): SchemaProblem[] {
  const present = new Set(links.outgoing(node.id).map(({ branch }) => branch));
  const missing = new Set(node.branches?.required.filter((branch) => !present.has(branch)));
  return [...missing].map((branch) => ({
    path,
    message: `expected branch ${quote(branch)} of ${quote(node.id)} (${node.block}) to have an edge, got none: add one that leads on, or one with to: null where the branch ends`,
  }));
}
