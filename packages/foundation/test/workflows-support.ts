import { isCodedError } from "../src/errors.ts";
import type { SchemaProblem } from "../src/schema-problems.ts";
import { type BlockId, checkWorkflow, type WorkflowDefinitionInput } from "../src/workflows.ts";

/** A small valid configuration of each block. */
export const CONFIGS = {
  email: { to: "{{ input.email }}", subject: "Hi", text: "Hello {{ input.name }}" },
  httpRequest: { method: "POST", url: "https://x.test/{{ input.id }}" },
  if: { condition: "input.amount > 100" },
  switch: {
    value: "input.kind",
    cases: [
      { name: "first", equals: "a" },
      { name: "second", equals: 2 },
    ],
  },
  rowCreate: { table: "task", data: { title: "{{ input.title }}" } },
  rowUpdate: { table: "task", id: "{{ input.id }}", data: { done: true } },
  rowDelete: { table: "task", id: "{{ input.id }}" },
  waitForInput: { title: "Approve?", fields: [{ name: "ok", label: "OK", type: "boolean" }] },
} as const satisfies Record<BlockId, object>;

/**
 * A workflow as text. A node is `id:block`, `ask:waitForInput`; without a block it is an email. An edge is `a → b`, of another branch `a.then → b`,
 * one that ends `a → null`, and one that goes back `a ↺ b`. The first node is the start.
 */
export function workflow(nodes: string, ...edges: string[]): WorkflowDefinitionInput {
  const made = nodes.split(" ").map((text) => {
    const [id = "", block = "email"] = text.split(":");
    return { id, block, config: CONFIGS[block as BlockId] ?? {} };
  });
  const definition = { name: "W", trigger: { type: "manual" }, start: made[0]?.id, nodes: made, edges: edges.map(edgeOf) };
  return definition as unknown as WorkflowDefinitionInput;
}

function edgeOf(text: string): object {
  const [left = "", arrow, right = ""] = text.split(" ");
  const [from, branch] = left.split(".");
  return {
    from,
    to: right === "null" ? null : right,
    ...(branch === undefined ? {} : { branch }),
    ...(arrow === "↺" ? { loop: true } : {}),
  };
}

/** What is wrong with a workflow, a line each; nothing when it is valid. */
export function problemsOf(input: unknown): string[] {
  return listProblems(input).map(({ path, message }) => `${path}: ${message}`);
}

/** As `problemsOf`, without what it says. */
export function pathsOf(input: unknown): string[] {
  return listProblems(input).map(({ path }) => path);
}

function listProblems(input: unknown): SchemaProblem[] {
  try {
    checkWorkflow(input);
    return [];
  } catch (error) {
    if (!isCodedError(error) || error.code !== "WORKFLOW.DEFINITION") throw error;
    return error.facts["problems"] as SchemaProblem[];
  }
}
