import type { SchemaProblem } from "../schema-problems.ts";
import { checkBranchEdges } from "./checks/branch-edges.ts";
import { checkCycles } from "./checks/cycles.ts";
import { checkEdgeEnds } from "./checks/edge-ends.ts";
import { checkLoopScopes } from "./checks/loop-scopes.ts";
import { checkLoops } from "./checks/loops.ts";
import { checkNodeIds } from "./checks/node-ids.ts";
import { outlineOf } from "./checks/outline.ts";
import { checkReach } from "./checks/reach.ts";

/** What is wrong with the graph of a definition, also of one that is wrong elsewhere; nothing where it has no graph that could be read. */
export function checkGraph(input: unknown): SchemaProblem[] {
  const outline = outlineOf(input);
  if (outline === null) return [];
  const cycles = checkCycles(outline);
  return [
    ...checkNodeIds(outline),
    ...checkEdgeEnds(outline),
    ...checkBranchEdges(outline),
    ...checkReach(outline),
    ...cycles,
    ...checkLoops(outline),
    // Around a cycle everything is behind everything: what enters beside what can be told when it is marked.
    ...(cycles.length > 0 ? [] : checkLoopScopes(outline)),
  ];
}
