import type { SchemaProblem } from "../../schema-problems.ts";
import type { WorkflowEdge } from "../definition.ts";
import { quote } from "../suggest.ts";
import { unknownNode } from "./node-ids.ts";
import type { Outline } from "./outline.ts";

/** Each edge between nodes that are there, once, and none that a run would have to have taken before it starts. */
export function checkEdgeEnds(outline: Outline): SchemaProblem[] {
  return outline.edges.flatMap((edge, index) => checkEdge(edge, `edges.${index}`, outline));
}

function checkEdge(edge: WorkflowEdge, path: string, outline: Outline): SchemaProblem[] {
  const { from, to, loop } = edge;
  const { ids, start } = outline;
  const problems: SchemaProblem[] = [];
  if (!ids.has(from)) problems.push({ path: `${path}.from`, message: unknownNode(from, ids) });
  if (to !== null && !ids.has(to)) problems.push({ path: `${path}.to`, message: unknownNode(to, ids) });
  if (to === start && loop !== true && ids.has(start)) {
    problems.push({
      path: `${path}.to`,
      message: `expected no edge but a loop to lead to the start ${quote(start)}, which would wait for it, got one from ${quote(from)}: mark it as loop, or start elsewhere`,
    });
  }
  return [...problems, ...checkTwin(edge, path, outline.edges)];
}

function checkTwin(edge: WorkflowEdge, path: string, edges: readonly WorkflowEdge[]): SchemaProblem[] {
  const siblings = edges.filter(({ from, branch }) => from === edge.from && branch === edge.branch);
  const twin = siblings.find(({ to }) => to === edge.to);
  const where = `branch ${quote(edge.branch)} of ${quote(edge.from)}`;
  if (twin !== undefined && twin !== edge) {
    return [{ path, message: `expected each edge once, got that of edges.${edges.indexOf(twin)} again: ${where}` }];
  }
  if (edge.to !== null || siblings.every(({ to }) => to === null)) return [];
  return [{ path: `${path}.to`, message: `expected ${where} either to end or to lead on, got both: remove the edge with to: null` }];
}
