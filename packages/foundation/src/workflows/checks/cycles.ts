import type { SchemaProblem } from "../../schema-problems.ts";
import type { Outline } from "./outline.ts";

/** No cycle without a loop edge: its nodes would wait for each other. One problem for each edge that goes back, not for each way round. */
export function checkCycles({ start, nodes, edges, links }: Outline): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (nodeId: string): void => {
    if (done.has(nodeId)) return;
    way.push(nodeId);
    for (const edge of links.outgoing(nodeId)) {
      if (edge.to === null || edge.loop === true) continue;
      const at = way.indexOf(edge.to);
      if (at === -1) visit(edge.to);
      else problems.push({ path: `edges.${edges.indexOf(edge)}`, message: unmarked([...way.slice(at), edge.to]) });
    }
    way.pop();
    done.add(nodeId);
  };
  // From the start first, so that the edge that is found to go back is the one its author sees going back.
  for (const nodeId of [start, ...nodes.map(({ id }) => id)]) visit(nodeId);
  return problems;
}

function unmarked(cycle: readonly string[]): string {
  return `expected no cycle without a loop, got ${cycle.join(" → ")}: mark the edge that goes back as loop`;
}
