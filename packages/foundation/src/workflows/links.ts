import type { WorkflowEdge } from "./definition.ts";

/** How nodes are linked. A node without edges has none of any kind; whether it is there is not asked. */
export interface Links {
  /** The edges that leave a node, loops and ends among them, in the definition's order. */
  outgoing(nodeId: string): readonly WorkflowEdge[];
  /** The edges that a node waits for: those that lead to it and are no loops. */
  incoming(nodeId: string): readonly WorkflowEdge[];
  /** Every node behind a node, without the loops; not the node itself, unless a cycle is not marked as loop. */
  followers(nodeId: string): ReadonlySet<string>;
}

export function linkNodes(edges: readonly WorkflowEdge[]): Links {
  const outgoing = Map.groupBy(edges, ({ from }) => from);
  const incoming = Map.groupBy(
    edges.filter(({ loop }) => loop !== true),
    ({ to }) => to,
  );
  const known = new Map<string, ReadonlySet<string>>();
  const links: Links = {
    outgoing: (nodeId) => outgoing.get(nodeId) ?? [],
    incoming: (nodeId) => incoming.get(nodeId) ?? [],
    followers: (nodeId) => {
      const followers = known.get(nodeId) ?? findFollowers(nodeId, links);
      known.set(nodeId, followers);
      return followers;
    },
  };
  return links;
}

/** Where a node's edges lead, without the loops and the ends. */
export function nextNodes(nodeId: string, links: Links): string[] {
  return links.outgoing(nodeId).flatMap(({ to, loop }) => (to === null || loop === true ? [] : [to]));
}

/** Whether an edge leads back to its own node, or to one that the others lead from to it. */
export function leadsBack({ from, to }: WorkflowEdge, links: Links): boolean {
  return to !== null && (to === from || links.followers(to).has(from));
}

function findFollowers(nodeId: string, links: Links): Set<string> {
  const found = new Set<string>();
  const open = [nodeId];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    for (const next of nextNodes(current, links)) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(next);
    }
  }
  return found;
}
