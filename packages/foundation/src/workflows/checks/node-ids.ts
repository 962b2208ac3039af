import type { SchemaProblem } from "../../schema-problems.ts";
import { quote, suggestion } from "../suggest.ts";
import type { Outline } from "./outline.ts";

/** Each id once, and the start one of them. */
export function checkNodeIds({ start, nodes, ids }: Outline): SchemaProblem[] {
  const problems = nodes.flatMap(({ id }, index): SchemaProblem[] => {
    const first = nodes.findIndex((node) => node.id === id);
    return first === index
      ? []
      : [{ path: `nodes.${index}.id`, message: `expected each id once, got ${quote(id)}, that of nodes.${first}, again` }];
  });
  return ids.has(start) ? problems : [...problems, { path: "start", message: unknownNode(start, ids) }];
}

/** What is said of a name that no node has. */
export function unknownNode(given: string, ids: ReadonlySet<string>): string {
  return `expected the id of a node, got ${quote(given)}: there is no such node${suggestion(given, [...ids])}`;
}
