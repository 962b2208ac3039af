import type { SchemaProblem } from "../../schema-problems.ts";
import type { WorkflowEdge } from "../definition.ts";
import { leadsBack, nextNodes } from "../links.ts";
import { quote } from "../suggest.ts";
import type { Outline } from "./outline.ts";

/** Each loop back to a node that has run before it, past a wait, and the only one to its target. */
export function checkLoops(outline: Outline): SchemaProblem[] {
  return outline.edges.flatMap((edge, index) => (edge.loop === true ? checkLoop(edge, `edges.${index}`, outline) : []));
}

function checkLoop(edge: WorkflowEdge, path: string, outline: Outline): SchemaProblem[] {
  const { from, to } = edge;
  const { ids, links, edges } = outline;
  if (to === null) return [{ path, message: "expected a loop to lead back to a node, got to: null: name the node, or remove loop" }];
  if (!ids.has(from) || !ids.has(to)) return [];
  if (!leadsBack(edge, links)) {
    return [
      {
        path,
        message: `expected a loop from ${quote(from)} to lead back to a node before it, got ${quote(to)}, which is not: remove loop`,
      },
    ];
  }
  const first = edges.findIndex((other) => other.loop === true && other.to === to);
  const problems: SchemaProblem[] = [];
  if (edges[first] !== edge) {
    problems.push({
      path,
      message: `expected one loop to ${quote(to)}, got that of edges.${first} and this one: lead both to one node, and the loop from there`,
    });
  }
  const restless = wayWithoutWait(to, from, outline);
  if (restless !== null) {
    problems.push({ path, message: `expected a waitForInput on every way round a loop, got ${[...restless, to].join(" → ")} without one` });
  }
  return problems;
}

/** A shortest way between two nodes on which no run ever rests; null when there is none. */
function wayWithoutWait(from: string, to: string, { nodes, links }: Outline): string[] | null {
  const restless = new Set(nodes.filter(({ mayWait }) => !mayWait).map(({ id }) => id));
  if (!restless.has(from)) return null;
  const ways = new Map([[from, [from]]]);
  // A map hands out what is added while it is walked.
  for (const [nodeId, way] of ways) {
    if (nodeId === to) return way;
    for (const next of nextNodes(nodeId, links)) {
      if (restless.has(next) && !ways.has(next)) ways.set(next, [...way, next]);
    }
  }
  return null;
}
