import type { SchemaProblem } from "../../schema-problems.ts";
import { quote } from "../suggest.ts";
import type { Outline } from "./outline.ts";

/** Every node on some way from the start. A loop is no such way: before it is taken, its target has run. */
export function checkReach({ start, nodes, ids, links }: Outline): SchemaProblem[] {
  if (!ids.has(start)) return [];
  const reached = links.followers(start);
  return nodes.flatMap(({ id }, index): SchemaProblem[] =>
    id === start || reached.has(id)
      ? []
      : [
          {
            path: `nodes.${index}`,
            message: `expected a way from the start ${quote(start)} to ${quote(id)} that takes no loop, got none: add an edge to it, or remove it`,
          },
        ],
  );
}
