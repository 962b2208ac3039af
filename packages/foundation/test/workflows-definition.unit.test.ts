import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkWorkflow, MAX_EDGES, MAX_NODES } from "../src/workflows.ts";
import { pathsOf, problemsOf, workflow } from "./workflows-support.ts";

const plain = workflow("a", "a → null");

describe("checkWorkflow", () => {
  test("fills in what was left out, and takes its own answer as it is", () => {
    const definition = checkWorkflow(workflow("a:httpRequest b:waitForInput", "a → b", "b → null"));
    expect(definition.nodes[0]?.config).toEqual({ method: "POST", url: "https://x.test/{{ input.id }}", timeoutSeconds: 10 });
    expect(definition.nodes[1]?.config).toEqual({
      title: "Approve?",
      fields: [{ name: "ok", label: "OK", type: "boolean", required: true }],
    });
    expect(definition.edges).toEqual([
      { from: "a", branch: "next", to: "b" },
      { from: "b", branch: "next", to: null },
    ]);
    expect(checkWorkflow(definition)).toEqual(definition);
  });

  test("answers with a coded error whose message has a line for each problem, and whose facts have the same", () => {
    const wrong = { ...workflow("a b", "a → c"), name: "" };
    expect(() => checkWorkflow(wrong)).toThrow(
      expect.objectContaining({
        code: "WORKFLOW.DEFINITION",
        retry: false,
        facts: {
          problems: [
            { path: "name", message: expect.any(String) },
            { path: "edges.0.to", message: expect.any(String) },
            { path: "nodes.1", message: expect.stringContaining("to have an edge") },
            { path: "nodes.1", message: expect.stringContaining("expected a way from the start") },
          ],
        },
      }),
    );
    expect(() => checkWorkflow(wrong)).toThrow(
      /^expected the workflow's definition to hold, got:\n {2}- name: .+\n {2}- edges\.0\.to: .+\n/,
    );
  });

  test.each<[string, unknown, string[]]>([
    ["no name", { ...plain, name: "" }, ["name"]],
    ["a long name", { ...plain, name: "x".repeat(201) }, ["name"]],
    ["an unknown key", { ...plain, version: 1 }, ["version"]],
    ["no nodes", { ...plain, nodes: [] }, ["nodes"]],
    ["no trigger", { ...plain, trigger: undefined }, ["trigger"]],
    ["an edge with a key too many", { ...plain, edges: [{ from: "a", to: null, when: "x" }] }, ["edges.0.when"]],
    ["a loop that is false", { ...plain, edges: [{ from: "a", to: null, loop: false }] }, ["edges.0.loop"]],
    ["a node with a key too many", { ...plain, nodes: [{ ...plain.nodes[0], next: "b" }] }, ["nodes.0.next"]],
    ["a node without a block", { ...plain, nodes: [{ id: "a", config: {} }] }, ["nodes.0.block"]],
    ["a node without a configuration", { ...plain, nodes: [{ id: "a", block: "email" }] }, ["nodes.0.config"]],
    ["nothing", undefined, [""]],
    ["null", null, [""]],
    ["a text", "workflow", [""]],
    ["a date inside", { ...plain, name: new Date(0) }, ["name"]],
    ["a text that jsonb refuses", { ...plain, nodes: [{ ...plain.nodes[0], name: "a\u0000" }] }, ["nodes.0.name"]],
    ["more than 1 MiB", { ...plain, name: "x".repeat(1024 * 1024) }, [""]],
  ])("refuses %s", (_, input, paths) => {
    expect(pathsOf(input)).toEqual(paths);
  });

  test("refuses a definition that contains itself", () => {
    const ring: Record<string, unknown> = { ...plain };
    ring["trigger"] = ring;
    expect(problemsOf(ring)).toEqual(["trigger: expected a tree, got a cycle"]);
  });

  test("takes as many nodes and edges as it says, and no more", () => {
    const ids = Array.from({ length: MAX_NODES + 1 }, (_, index) => `n${index}`);
    const line = ids.map((id, index) => `${id} → ${ids[index + 1] ?? "null"}`);
    expect(pathsOf(workflow(ids.join(" "), ...line))).toEqual(["nodes"]);
    expect(pathsOf(workflow(ids.slice(1).join(" "), ...line.slice(1)))).toEqual([]);
    const edges = Array.from({ length: MAX_EDGES + 1 }, () => ({ from: "a", to: null }));
    expect(pathsOf({ ...plain, edges })).toEqual(["edges"]);
  });

  test("answers any JSON with a definition or a list of problems", () => {
    const part = fc.oneof(fc.jsonValue(), fc.constantFrom("a", "b", "email", "next", null, true));
    const like = fc.record({
      name: fc.oneof(fc.constant("W"), part),
      trigger: fc.oneof(fc.constant({ type: "manual" }), part),
      start: fc.oneof(fc.constant("a"), part),
      nodes: fc.oneof(fc.array(fc.record({ id: part, block: part, config: part }, { requiredKeys: [] })), part),
      edges: fc.oneof(fc.array(fc.record({ from: part, branch: part, to: part, loop: part }, { requiredKeys: [] })), part),
    });
    fc.assert(
      fc.property(fc.oneof(like, fc.jsonValue()), (input) => {
        expect(() => pathsOf(input)).not.toThrow();
      }),
    );
  });

  test("answers the largest graph, when every edge of it is wrong, with all that is", () => {
    const ids = Array.from({ length: MAX_NODES }, (_, index) => `n${index}-${"x".repeat(50)}`);
    const edges = Array.from(
      { length: MAX_EDGES },
      (_, index) => `${ids[index % MAX_NODES]} ${index % 3 === 0 ? "↺" : "→"} n${index}-${"y".repeat(50)}`,
    );
    expect(pathsOf(workflow(ids.join(" "), ...edges)).length).toBeGreaterThan(MAX_EDGES);
  });
});

describe("names", () => {
  test.each(["a", "ask-again", "first_name", "step2", `a${"b".repeat(63)}`])("%s is the id of a node", (id) => {
    expect(pathsOf({ ...plain, start: id, nodes: [{ ...plain.nodes[0], id }], edges: [{ from: id, to: null }] })).toEqual([]);
  });

  test.each(["", "A", "2a", "a b", "a.b", "-a", "a-", "a--b", "_a", "__proto__", "ä", `a${"b".repeat(64)}`])("%j is none", (id) => {
    expect(pathsOf({ ...plain, start: id, nodes: [{ ...plain.nodes[0], id }], edges: [{ from: id, to: null }] })).toEqual(["nodes.0.id"]);
  });

  test.each([
    ["Email", "; did you mean email"],
    ["emial", "; did you mean email"],
    ["emails", "; did you mean email"],
    ["emaxl", "; did you mean email"],
    ["http", "; did you mean httpRequest"],
    ["http-request", "; did you mean httpRequest"],
    ["sendEmail", "; did you mean email"],
    ["wait", "; did you mean waitForInput"],
    ["slack", ""],
    ["x", ""],
    ["", ""],
  ])("a block called %j is answered with what may be meant: %j", (block, meant) => {
    expect(problemsOf({ ...plain, nodes: [{ ...plain.nodes[0], block }] })).toEqual([
      `nodes.0.block: expected one of email, httpRequest, if, switch, rowCreate, rowUpdate, rowDelete, waitForInput, got ${JSON.stringify(block)}: there is no such block${meant}`,
    ]);
  });
});

describe("triggers", () => {
  const withTrigger = (trigger: unknown): unknown => ({ ...plain, trigger });
  const formId = "0b6a7c1e-5f1d-4c57-9d9b-0f3b7f4f2f10";

  test.each([
    [{ type: "manual" }],
    [{ type: "manual", input: [{ name: "amount", label: "Amount", type: "number" }] }],
    [{ type: "row", table: "task", on: ["created"] }],
    [{ type: "row", table: "task", on: ["created", "updated", "deleted"], condition: "after.done" }],
    [{ type: "form", formId }],
    [{ type: "event", eventType: "billing.invoice.paid" }],
    [{ type: "event", eventType: "billing." }],
    [{ type: "event", eventType: "billing.invoice.", condition: "data.amount > 5" }],
    [{ type: "event", eventType: "billing.invoice.paid." }],
  ])("%j is one", (trigger) => {
    expect(problemsOf(withTrigger(trigger))).toEqual([]);
  });

  test.each<[unknown, string]>([
    [{ type: "rows", table: "task", on: ["created"] }, "trigger.type"],
    [{ type: "manual", input: [] }, "trigger.input"],
    [{ type: "manual", table: "task" }, "trigger.table"],
    [{ type: "row", table: "Task", on: ["created"] }, "trigger.table"],
    [{ type: "row", table: "task", on: [] }, "trigger.on"],
    [{ type: "row", table: "task", on: ["saved"] }, "trigger.on.0"],
    [{ type: "row", table: "task", on: ["created", "created"] }, "trigger.on.1"],
    [{ type: "row", table: "task", on: ["created"], condition: "" }, "trigger.condition"],
    [{ type: "row", table: "task", on: ["created"], condition: "x".repeat(2001) }, "trigger.condition"],
    [{ type: "form", formId: "7" }, "trigger.formId"],
    [{ type: "event", eventType: "billing" }, "trigger.eventType"],
    [{ type: "event", eventType: "." }, "trigger.eventType"],
    [{ type: "event", eventType: "billing..invoice." }, "trigger.eventType"],
    [{ type: "event", eventType: "Billing." }, "trigger.eventType"],
    [{ type: "event", eventType: "billing.*" }, "trigger.eventType"],
  ])("%j is none", (trigger, path) => {
    expect(pathsOf(withTrigger(trigger))).toEqual([path]);
  });
});
