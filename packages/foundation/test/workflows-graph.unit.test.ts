import { expect, test } from "vitest";
import { checkWorkflow, graphOf } from "../src/workflows.ts";
import { workflow } from "./workflows-support.ts";

const graph = graphOf(
  checkWorkflow(
    workflow(
      "a ask:waitForInput check:switch yes no done",
      "a → ask",
      "ask → check",
      "ask.expired ↺ ask",
      "check.first → yes",
      "check.second → no",
      "check.default → null",
      "yes → done",
      "no → done",
      "done → null",
    ),
  ),
);

test("a graph has every node by its id", () => {
  expect([...graph.nodes.keys()]).toEqual(["a", "ask", "check", "yes", "no", "done"]);
  expect(graph.nodes.get("ask")).toMatchObject({ id: "ask", block: "waitForInput", config: { title: "Approve?" } });
});

test("what leaves a node are all its edges in the order of the definition, loops and ends among them", () => {
  expect(graph.outgoing("ask")).toEqual([
    { from: "ask", branch: "next", to: "check" },
    { from: "ask", branch: "expired", to: "ask", loop: true },
  ]);
  expect(graph.outgoing("check").map(({ branch, to }) => `${branch} ${to}`)).toEqual(["first yes", "second no", "default null"]);
});

test("what a node waits for are the edges to it that are no loops", () => {
  expect(graph.incoming("ask")).toEqual([{ from: "a", branch: "next", to: "ask" }]);
  expect(graph.incoming("done").map(({ from }) => from)).toEqual(["yes", "no"]);
  expect(graph.incoming("a")).toEqual([]);
});

test("the followers of a node are all behind it, not itself, and none that a loop alone leads to", () => {
  expect(graph.followers("ask")).toEqual(new Set(["check", "yes", "no", "done"]));
  expect(graph.followers("a")).toEqual(new Set(["ask", "check", "yes", "no", "done"]));
  expect(graph.followers("done")).toEqual(new Set());
  expect(graph.followers("yes")).toBe(graph.followers("yes"));
});

test("the branches of a node are those of its block and its cases", () => {
  const branches = [...graph.nodes.values()].map((node) => graph.branchesOf(node));
  expect(branches).toEqual([["next"], ["next", "expired"], ["first", "second", "default"], ["next"], ["next"], ["next"]]);
});

test.each(["outgoing", "incoming", "followers"] as const)("%s of a node that is not there is refused", (question) => {
  expect(() => graph[question]("nope")).toThrow(expect.objectContaining({ code: "WORKFLOW.ARGUMENT", facts: { nodeId: "nope" } }));
});
