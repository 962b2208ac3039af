import fc from "fast-check";
import { expect, test } from "vitest";
import { checkWorkflow, type WorkflowDefinition } from "../src/workflows.ts";
import { pathsOf, workflow } from "./workflows-support.ts";

const IDS = ["a", "b", "c", "d", "e"];

/**
 * Small graphs of steps and waits: every node but the first has a way to it, some have a second one, and up to three edges go back.
 * One of these in a while is not marked as loop, and one in a while that goes on is.
 */
const graphs = fc
  .record({
    waits: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    parents: fc.tuple(...[1, 2, 3, 4].map((node) => fc.array(fc.nat(node - 1), { minLength: 1, maxLength: 2 }))),
    back: fc.array(fc.tuple(fc.nat(4), fc.nat(4)), { maxLength: 3 }),
    odd: fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 11, maxLength: 11 }),
  })
  .map(({ waits, parents, back, odd }) => {
    const forth = parents.flatMap((from, index) => [...new Set(from)].map((parent) => [parent, index + 1, "→"] as const));
    const backward = back.map(([one, other]) => [Math.max(one, other), Math.min(one, other), "↺"] as const);
    const links = [...forth, ...backward].map(([from, to, arrow], index) => {
      const drawn = odd[index] === 0 ? (arrow === "→" ? "↺" : "→") : arrow;
      return `${IDS[from]} ${drawn} ${IDS[to]}`;
    });
    const ends = IDS.filter((id) => links.every((link) => !link.startsWith(id))).map((id) => `${id} → null`);
    return workflow(IDS.map((id, node) => `${id}:${waits[node] === true ? "waitForInput" : "email"}`).join(" "), ...links, ...ends);
  });

// In words of its own: walks instead of sets.
function hasCycle(definition: WorkflowDefinition, options: { loops: boolean; waits: boolean }): boolean {
  const nodes = definition.nodes.filter(({ block }) => options.waits || block !== "waitForInput").map(({ id }) => id);
  const edges = definition.edges.filter(({ loop }) => options.loops || loop !== true);
  const walk = (id: string, way: string[]): boolean =>
    way.includes(id) || edges.some(({ from, to }) => from === id && to !== null && nodes.includes(to) && walk(to, [...way, id]));
  return nodes.some((id) => walk(id, []));
}

test("whatever is taken ends: it has no cycle without its loops, and with them none without a wait, through however many of them", () => {
  let taken = 0;
  let withLoops = 0;
  fc.assert(
    fc.property(graphs, (input) => {
      if (pathsOf(input).length > 0) return;
      const definition = checkWorkflow(input);
      taken += 1;
      if (definition.edges.filter(({ loop }) => loop === true).length > 1) withLoops += 1;
      expect(hasCycle(definition, { loops: false, waits: true })).toBe(false);
      expect(hasCycle(definition, { loops: true, waits: false })).toBe(false);
    }),
    { numRuns: 3_000 },
  );
  // Else the property has proven nothing.
  expect(taken).toBeGreaterThan(100);
  expect(withLoops).toBeGreaterThan(10);
});
