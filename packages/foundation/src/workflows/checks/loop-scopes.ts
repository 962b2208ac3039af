import type { SchemaProblem } from "../../schema-problems.ts";
import type { WorkflowEdge } from "../definition.ts";
import { leadsBack } from "../links.ts";
import { quote } from "../suggest.ts";
import type { Outline } from "./outline.ts";

/**
 * What is behind a loop's target is behind nothing else: each iteration runs all of it again, and a join there would wait for an edge that
 * came in the first iteration and never comes again. One problem for each target.
 */
export function checkLoopScopes(outline: Outline): SchemaProblem[] {
  const loops = outline.edges.filter((edge) => edge.loop === true && leadsBack(edge, outline.links));
  const targets = new Set(loops.flatMap(({ to }) => (to === null ? [] : [to])));
  return [...targets].flatMap((target) => checkScope(target, outline));
}

function checkScope(target: string, { edges, ids, links }: Outline): SchemaProblem[] {
  const behind = links.followers(target);
  const entersBeside = ({ from, to, loop }: WorkflowEdge): boolean =>
    to !== null && behind.has(to) && loop !== true && from !== target && ids.has(from) && !behind.has(from);
  const index = edges.findIndex(entersBeside);
  const edge = edges[index];
  if (edge === undefined) return [];
  const message = `expected every way to ${quote(edge.to ?? "")}, which a loop to ${quote(target)} runs again, to pass ${quote(target)}, got one from ${quote(edge.from)} beside it: lead it to ${quote(target)}, or to a node that is not behind it`;
  return [{ path: `edges.${index}`, message }];
}
