import { checkWorkflow, graphOf, type WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { describe, expect, test } from "vitest";
import { advance } from "../src/runner/advance.ts";
import { ask, manual, note } from "./support.ts";

type Row = Parameters<typeof advance>[1][number];

const done = (nodeId: string, iteration = 0, branch = "next"): Row => ({ nodeId, iteration, branch, status: "done" });
const skipped = (nodeId: string, iteration = 0): Row => ({ nodeId, iteration, branch: null, status: "skipped" });

function follow(definition: WorkflowDefinitionInput, steps: Row[]): string[] {
  const graph = graphOf(checkWorkflow(definition));
  const ended = steps.at(-1);
  if (ended === undefined) throw new Error("expected a step that has ended");
  return advance(graph, steps, ended).map(({ nodeId, iteration, status }) => `${nodeId}@${iteration} ${status}`);
}

const decide = { id: "decide", block: "if" as const, config: { condition: "true" } };

describe("a join", () => {
  const definition = manual(
    [note("start"), note("a"), note("b"), note("join")],
    [
      { from: "start", to: "a" },
      { from: "start", to: "b" },
      { from: "a", to: "join" },
      { from: "b", to: "join" },
      { from: "join", to: null },
    ],
  );

  test("waits for the branch that has not come", () => {
    expect(follow(definition, [done("start"), { ...done("b"), status: "ready" }, done("a")])).toEqual([]);
  });

  test("is ready with the last of its branches", () => {
    expect(follow(definition, [done("start"), done("b"), done("a")])).toEqual(["join@0 ready"]);
  });

  test("is written once, whoever asks again", () => {
    expect(follow(definition, [done("start"), done("b"), { ...done("join"), status: "ready" }, done("a")])).toEqual([]);
  });

  test("both branches of one step are ready at once", () => {
    expect(follow(definition, [done("start")])).toEqual(["a@0 ready", "b@0 ready"]);
  });
});

describe("a branch that was not taken", () => {
  const definition = manual(
    [decide, note("yes"), note("no"), note("behind-no"), note("join")],
    [
      { from: "decide", branch: "then", to: "yes" },
      { from: "decide", branch: "else", to: "no" },
      { from: "no", to: "behind-no" },
      { from: "behind-no", to: "join" },
      { from: "yes", to: "join" },
      { from: "join", to: null },
    ],
  );

  test("is skipped with all that is behind it, up to the join", () => {
    expect(follow(definition, [done("decide", 0, "then")])).toEqual(["yes@0 ready", "no@0 skipped", "behind-no@0 skipped"]);
  });

  test("counts as arrived at the join", () => {
    expect(follow(definition, [done("decide", 0, "then"), skipped("no"), skipped("behind-no"), done("yes")])).toEqual(["join@0 ready"]);
  });
});

test("a join whose every way was skipped is skipped", () => {
  const definition = manual(
    [decide, note("a"), note("b"), note("join"), note("other")],
    [
      { from: "decide", branch: "then", to: "a" },
      { from: "decide", branch: "then", to: "b" },
      { from: "decide", branch: "else", to: "other" },
      { from: "a", to: "join" },
      { from: "b", to: "join" },
      { from: "join", to: null },
      { from: "other", to: null },
    ],
  );
  expect(follow(definition, [done("decide", 0, "else")])).toEqual(["a@0 skipped", "b@0 skipped", "other@0 ready", "join@0 skipped"]);
});

describe("a loop", () => {
  const definition = manual(
    [ask("ask"), decide, note("end")],
    [
      { from: "ask", to: "decide" },
      { from: "decide", branch: "then", to: "end" },
      { from: "decide", branch: "else", to: "ask", loop: true },
      { from: "end", to: null },
    ],
  );

  test("begins another turn of its target when it is taken, and skips the way out", () => {
    expect(follow(definition, [done("ask"), done("decide", 0, "else")])).toEqual(["end@0 skipped", "ask@1 ready"]);
  });

  test("goes on with the way out in the turn that leaves it", () => {
    const first = [done("ask"), done("decide", 0, "else"), skipped("end")];
    expect(follow(definition, [...first, done("ask", 1), done("decide", 1, "then")])).toEqual(["end@1 ready"]);
  });
});
