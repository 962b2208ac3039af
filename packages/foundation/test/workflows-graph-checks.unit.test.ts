import { describe, expect, test } from "vitest";
import { problemsOf, workflow } from "./workflows-support.ts";

describe("a graph that holds is taken", () => {
  test.each([
    ["one step", workflow("a", "a → null")],
    ["branches that join again", workflow("a:if b c d", "a.then → b", "a.else → c", "b → d", "c → d", "d → null")],
    ["parallel steps that join", workflow("a b c d", "a → b", "a → c", "b → d", "c → d", "d → null")],
    ["both branches to one node", workflow("a:if b", "a.then → b", "a.else → b", "b → null")],
    ["a switch without default", workflow("a:switch b", "a.first → b", "a.second → null", "b → null")],
    ["a switch with default", workflow("a:switch b", "a.first → b", "a.second → null", "a.default → b", "b → null")],
    ["a wait with what follows its expiry", workflow("a:waitForInput b", "a → null", "a.expired → b", "b → null")],
    ["a loop through a wait", workflow("a ask:waitForInput c:if", "a → ask", "ask → c", "c.then → null", "c.else ↺ ask")],
    ["a loop whose wait is its end", workflow("a b:if ask:waitForInput", "a → b", "b.then → null", "b.else → ask", "ask ↺ b")],
    ["a wait that asks again", workflow("ask:waitForInput", "ask → null", "ask.expired ↺ ask")],
    ["a loop to the start", workflow("a ask:waitForInput", "a → ask", "ask → null", "ask.expired ↺ a")],
    [
      "a loop in a loop",
      workflow("a ask:waitForInput ok:waitForInput", "a → ask", "ask → ok", "ask.expired ↺ ask", "ok → null", "ok.expired ↺ a"),
    ],
    [
      "two waits beside each other in a loop",
      workflow("a:if x:waitForInput y:waitForInput z", "a.then → x", "a.else → y", "x → z", "y → z", "z ↺ a"),
    ],
  ])("%s", (_, definition) => {
    expect(problemsOf(definition)).toEqual([]);
  });
});

describe("nodes and ends", () => {
  test("an id that stands twice is refused at the second node", () => {
    expect(problemsOf(workflow("a b b", "a → b", "b → null"))).toEqual([
      'nodes.2.id: expected each id once, got "b", that of nodes.1, again',
    ]);
  });

  test("what is wrong with the edges of an id that stands twice is said once", () => {
    expect(problemsOf(workflow("a b b", "a → b"))).toEqual([
      'nodes.2.id: expected each id once, got "b", that of nodes.1, again',
      'nodes.1: expected branch "next" of "b" (email) to have an edge, got none: add one that leads on, or one with to: null where the branch ends',
    ]);
  });

  test("a start that is no node is refused, with the one that was meant", () => {
    expect(problemsOf({ ...workflow("first-mail", "first-mail → null"), start: "frist-mail" })).toEqual([
      'start: expected the id of a node, got "frist-mail": there is no such node; did you mean first-mail',
    ]);
  });

  test("an edge from or to no node is refused", () => {
    expect(problemsOf(workflow("a", "a → send", "ask → a"))).toEqual([
      'edges.0.to: expected the id of a node, got "send": there is no such node',
      'edges.1.from: expected the id of a node, got "ask": there is no such node',
      'edges.1.to: expected no edge but a loop to lead to the start "a", which would wait for it, got one from "ask": mark it as loop, or start elsewhere',
    ]);
  });

  test("a node that no way leads to is refused", () => {
    expect(problemsOf(workflow("a b c", "a → null", "b → c", "c → null"))).toEqual([
      'nodes.1: expected a way from the start "a" to "b" that takes no loop, got none: add an edge to it, or remove it',
      'nodes.2: expected a way from the start "a" to "c" that takes no loop, got none: add an edge to it, or remove it',
    ]);
  });

  test("a loop is no way to a node", () => {
    expect(problemsOf(workflow("a:waitForInput b", "a → null", "a ↺ b", "b → null"))).toContain(
      'nodes.1: expected a way from the start "a" to "b" that takes no loop, got none: add an edge to it, or remove it',
    );
  });

  test("an edge that stands twice is refused, whether it is marked as loop or not", () => {
    expect(problemsOf(workflow("a b", "a → b", "b → null", "a → b", "b → null"))).toEqual([
      'edges.2: expected each edge once, got that of edges.0 again: branch "next" of "a"',
      'edges.3: expected each edge once, got that of edges.1 again: branch "next" of "b"',
    ]);
    expect(problemsOf(workflow("a b", "a → b", "a ↺ b", "b → null"))).toContain(
      'edges.1: expected each edge once, got that of edges.0 again: branch "next" of "a"',
    );
  });

  test("a branch that ends and leads on is refused", () => {
    expect(problemsOf(workflow("a b", "a → b", "a → null", "b → null"))).toEqual([
      'edges.1.to: expected branch "next" of "a" either to end or to lead on, got both: remove the edge with to: null',
    ]);
  });
});

describe("branches", () => {
  test("one that the block does not have is refused, with those it has", () => {
    expect(
      problemsOf(
        workflow("a:if b:switch c:waitForInput", "a.then → b", "a.els → null", "a.else → c", "b.third → null", "c → null", "c.then → null"),
      ),
    ).toEqual([
      'edges.1.branch: expected one of then, else, the branches of "a" (if), got "els"; did you mean else',
      'edges.3.branch: expected one of first, second, default, the branches of "b" (switch), got "third"',
      'edges.5.branch: expected one of next, expired, the branches of "c" (waitForInput), got "then"',
      'nodes.1: expected branch "first" of "b" (switch) to have an edge, got none: add one that leads on, or one with to: null where the branch ends',
      'nodes.1: expected branch "second" of "b" (switch) to have an edge, got none: add one that leads on, or one with to: null where the branch ends',
    ]);
  });

  test("`next` is the branch of an edge that names none, and the one of a plain step", () => {
    expect(problemsOf(workflow("a b:if", "a.then → b", "b → null", "b.then → null", "b.else → null"))).toEqual([
      'edges.0.branch: expected next, the branch of "a" (email), got "then"',
      'edges.1.branch: expected one of then, else, the branches of "b" (if), got "next"',
      'nodes.0: expected branch "next" of "a" (email) to have an edge, got none: add one that leads on, or one with to: null where the branch ends',
    ]);
  });

  test.each([
    ["email", ["next"]],
    ["httpRequest", ["next"]],
    ["if", ["then", "else"]],
    ["switch", ["first", "second"]],
    ["rowCreate", ["next"]],
    ["rowUpdate", ["next"]],
    ["rowDelete", ["next"]],
    ["waitForInput", ["next"]],
  ])("a node of %s needs an edge for each of %j, and for no other", (block, branches) => {
    expect(problemsOf(workflow(`a:${block}`))).toEqual(
      branches.map(
        (branch) =>
          `nodes.0: expected branch "${branch}" of "a" (${block}) to have an edge, got none: add one that leads on, or one with to: null where the branch ends`,
      ),
    );
    expect(problemsOf(workflow(`a:${block}`, ...branches.map((branch) => `a.${branch} → null`)))).toEqual([]);
  });
});

describe("cycles without a loop", () => {
  const start = (from: string): string =>
    `expected no edge but a loop to lead to the start "a", which would wait for it, got one from "${from}": mark it as loop, or start elsewhere`;

  test("are refused at the edge that goes back, with the whole way round", () => {
    expect(problemsOf(workflow("s a b:waitForInput", "s → a", "a → b", "b → a"))).toEqual([
      "edges.2: expected no cycle without a loop, got a → b → a: mark the edge that goes back as loop",
    ]);
  });

  test("are refused for a node that leads to itself", () => {
    expect(problemsOf(workflow("s a:waitForInput", "s → a", "a → a"))).toEqual([
      "edges.1: expected no cycle without a loop, got a → a: mark the edge that goes back as loop",
    ]);
  });

  test("are refused back to the start, which waits for nobody", () => {
    expect(problemsOf(workflow("a b:waitForInput", "a → b", "b → a"))).toEqual([
      `edges.1.to: ${start("b")}`,
      "edges.1: expected no cycle without a loop, got a → b → a: mark the edge that goes back as loop",
    ]);
  });

  test("are each named", () => {
    const definition = workflow("s a b:waitForInput c:waitForInput", "s → a", "a → b", "b → a", "b → c", "c → b");
    expect(problemsOf(definition)).toEqual([
      "edges.2: expected no cycle without a loop, got a → b → a: mark the edge that goes back as loop",
      "edges.4: expected no cycle without a loop, got b → c → b: mark the edge that goes back as loop",
    ]);
  });

  test("are named where no way from the start leads, too", () => {
    expect(problemsOf(workflow("s a b", "s → null", "a → b", "b → a"))).toContain(
      "edges.2: expected no cycle without a loop, got a → b → a: mark the edge that goes back as loop",
    );
  });
});

describe("loops", () => {
  test("one that goes on instead of back is refused", () => {
    expect(problemsOf(workflow("a b c", "a → b", "b ↺ c", "a → c", "c → null"))).toEqual([
      'edges.1: expected a loop from "b" to lead back to a node before it, got "c", which is not: remove loop',
    ]);
  });

  test("one that leads nowhere is refused", () => {
    expect(problemsOf(workflow("a:waitForInput", "a ↺ null"))).toEqual([
      "edges.0: expected a loop to lead back to a node, got to: null: name the node, or remove loop",
    ]);
  });

  test("one with a way round on which nobody is waited for is refused, with that way", () => {
    const definition = workflow("a b:if ask:waitForInput c", "a → b", "b.then → ask", "b.else → c", "ask → c", "c ↺ b");
    expect(problemsOf(definition)).toEqual(["edges.4: expected a waitForInput on every way round a loop, got b → c → b without one"]);
  });

  test("one of a node to itself needs a node that waits", () => {
    expect(problemsOf(workflow("a", "a ↺ a"))).toEqual([
      "edges.0: expected a waitForInput on every way round a loop, got a → a without one",
    ]);
  });

  test("a second one to the same node is refused", () => {
    const definition = workflow("a ask:waitForInput b:if", "a → ask", "ask → b", "ask.expired ↺ ask", "b.then → null", "b.else ↺ ask");
    expect(problemsOf(definition)).toEqual([
      'edges.4: expected one loop to "ask", got that of edges.2 and this one: lead both to one node, and the loop from there',
    ]);
  });

  test("a way that enters behind its target, beside it, is refused", () => {
    const definition = workflow("a:if ask:waitForInput b", "a.then → ask", "a.else → b", "ask → b", "ask.expired ↺ ask", "b → null");
    expect(problemsOf(definition)).toEqual([
      'edges.1: expected every way to "b", which a loop to "ask" runs again, to pass "ask", got one from "a" beside it: lead it to "ask", or to a node that is not behind it',
    ]);
  });
});

describe("one answer for everything", () => {
  test("problems of shape, configuration and graph come together", () => {
    const definition = workflow("a b:mail c:if", "a → b", "b.sent → c", "c.then → d", "c.else → null");
    const nodes = [{ ...definition.nodes[0], config: { to: "a@x.test", subject: "x" } }, ...definition.nodes.slice(1)];
    expect(problemsOf({ ...definition, nodes, trigger: { type: "cron" } })).toEqual([
      'trigger.type: expected one of manual, row, form, event, got "cron": there is no such trigger',
      "nodes.0.config.text: expected a text or an html template, got neither",
      'nodes.1.block: expected one of email, httpRequest, if, switch, rowCreate, rowUpdate, rowDelete, waitForInput, got "mail": there is no such block; did you mean email',
      'edges.2.to: expected the id of a node, got "d": there is no such node',
    ]);
  });

  test("nothing is said that follows from another problem alone", () => {
    // A cycle puts x behind t; when it is marked, x is before it.
    const cycle = workflow("s x t:waitForInput w", "s → x", "x → t", "t → w", "w ↺ t", "w → x");
    expect(problemsOf(cycle)).toEqual([
      "edges.4: expected no cycle without a loop, got x → t → w → x: mark the edge that goes back as loop",
    ]);
    // A loop that goes on has nothing behind it that it runs again.
    const onward = workflow("a b:waitForInput c d", "a → b", "b ↺ c", "a → c", "a → d", "c → d", "d → null");
    expect(problemsOf(onward)).toEqual([
      'edges.1: expected a loop from "b" to lead back to a node before it, got "c", which is not: remove loop',
    ]);
    // Whether a block that is unknown waits is unknown.
    expect(problemsOf(workflow("a b:wait", "a → b", "b ↺ a"))).toEqual([
      expect.stringMatching(/^nodes\.1\.block: .+ did you mean waitForInput$/),
    ]);
    // A loop that is no true is still an edge.
    const definition = workflow("a b", "a → b", "b → null");
    expect(problemsOf({ ...definition, edges: [{ from: "a", to: "c", loop: "yes" }, ...definition.edges] })).toEqual([
      expect.stringMatching(/^edges\.0\.loop: /),
      'edges.0.to: expected the id of a node, got "c": there is no such node',
    ]);
  });

  test("a graph that cannot be read is not guessed at", () => {
    const definition = workflow("a b", "a → b", "b → null");
    expect(
      problemsOf({ ...definition, nodes: [definition.nodes[0], { block: "email" }] }).every((line) => line.startsWith("nodes.1.")),
    ).toBe(true);
    expect(problemsOf({ ...definition, edges: [{ from: "a" }] })).toEqual([expect.stringMatching(/^edges\.0\.to: /)]);
  });
});
