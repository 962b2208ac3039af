import { describe, expect, test } from "vitest";
import {
  BLOCK_IDS,
  type BlockId,
  checkWorkflow,
  EXECUTION_STATUSES,
  EXECUTOR_KINDS,
  isTerminal,
  MAX_ITERATIONS,
  MAX_WORKFLOW_DEPTH,
  NATIVE_CAPABILITIES,
  type NativeGap,
  nativeGapsOf,
  TERMINAL_STATUSES,
  type WorkflowDefinition,
} from "../src/workflows.ts";
import { workflow } from "./workflows-support.ts";

const MATRIX: Array<[BlockId, (typeof NATIVE_CAPABILITIES)[BlockId], NativeGap["reason"][], NativeGap["reason"][]]> = [
  // block, capability, its gaps, its gaps with a stored credential
  ["email", { native: "safe" }, [], []],
  ["httpRequest", { native: "safe", except: "credential" }, [], ["credential"]],
  ["if", { native: "safe" }, [], []],
  ["switch", { native: "safe" }, [], []],
  ["rowCreate", { native: "safe" }, [], []],
  ["rowUpdate", { native: "safe" }, [], []],
  ["rowDelete", { native: "safe" }, [], []],
  ["waitForInput", { native: "boundary" }, ["wait-boundary"], ["wait-boundary"]],
];

describe("the capability matrix", () => {
  test("has a line for every block, here and there", () => {
    expect(MATRIX.map(([block]) => block)).toEqual(BLOCK_IDS);
    expect(Object.keys(NATIVE_CAPABILITIES)).toEqual(BLOCK_IDS);
  });

  test.each(MATRIX)("%s is %j", (block, capability, gaps, gapsWithCredential) => {
    expect(NATIVE_CAPABILITIES[block]).toEqual(capability);
    const { nodes } = workflow(`a:${block}`) as WorkflowDefinition;
    const reasons = (given: object): string[] => {
      const changed = nodes.map((node) => ({ ...node, config: { ...node.config, ...given } })) as WorkflowDefinition["nodes"];
      return nativeGapsOf({ nodes: changed }).map(({ reason }) => reason);
    };
    expect(reasons({})).toEqual(gaps);
    expect(reasons({ credentialId: undefined })).toEqual(gaps);
    expect(reasons({ credentialId: "0b6a7c1e-5f1d-4c57-9d9b-0f3b7f4f2f10" })).toEqual(gapsWithCredential);
  });

  test("names each node with a gap, in the order of the nodes", () => {
    const definition = workflow("call:httpRequest ask:waitForInput mail", "call → ask", "ask → mail", "mail → null");
    const nodes = definition.nodes.map((node) =>
      node.block === "httpRequest" ? { ...node, config: { ...node.config, credentialId: "0b6a7c1e-5f1d-4c57-9d9b-0f3b7f4f2f10" } } : node,
    );
    expect(nativeGapsOf(checkWorkflow({ ...definition, nodes }))).toEqual([
      { nodeId: "call", block: "httpRequest", reason: "credential" },
      { nodeId: "ask", block: "waitForInput", reason: "wait-boundary" },
    ]);
  });
});

test("executions have these statuses, executors these kinds, and what goes round these bounds", () => {
  expect(EXECUTION_STATUSES).toEqual(["queued", "running", "waiting", "success", "error", "rejected", "skipped", "cancelled"]);
  expect(EXECUTION_STATUSES.filter(isTerminal)).toEqual(TERMINAL_STATUSES);
  expect(TERMINAL_STATUSES).toEqual(["success", "error", "rejected", "skipped", "cancelled"]);
  expect(EXECUTOR_KINDS).toEqual(["native", "http", "hybrid"]);
  expect([MAX_WORKFLOW_DEPTH, MAX_ITERATIONS]).toEqual([8, 100]);
});
