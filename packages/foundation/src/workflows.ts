/** Workflows: what they are made of, what makes one valid, how its graph is walked, and what an executor can run of it. */
export { type BlockConfig, blockConfigSchemas } from "./workflows/block-configs.ts";
export { BLOCK_IDS, type BlockId, BLOCKS, type BlockTraits, isBlockId } from "./workflows/block-ids.ts";
export { BLOCK_TEXTS, type BlockText, type Language, LANGUAGES } from "./workflows/block-texts.ts";
export { branchesOf } from "./workflows/branches.ts";
export { NATIVE_CAPABILITIES, type NativeCapability, type NativeGap, nativeGapsOf } from "./workflows/capabilities.ts";
export { checkWorkflow } from "./workflows/check-workflow.ts";
export type { HttpBody } from "./workflows/configs/http-request.ts";
export { MAX_EDGES, MAX_NODES, type WorkflowDefinition, type WorkflowDefinitionInput, type WorkflowEdge } from "./workflows/definition.ts";
export {
  EXECUTION_STATUSES,
  EXECUTOR_KINDS,
  type ExecutionStatus,
  type ExecutorKind,
  isTerminal,
  MAX_ITERATIONS,
  MAX_WORKFLOW_DEPTH,
  TERMINAL_STATUSES,
  type TerminalStatus,
} from "./workflows/execution.ts";
export { graphOf, type WorkflowGraph } from "./workflows/graph.ts";
export { type InputField, inputFieldsSchema } from "./workflows/input-fields.ts";
export { type InputValue, inputValueSchema } from "./workflows/input-value.ts";
export { type NodeOf, type NodeRetry, retryOf, type WorkflowNode } from "./workflows/nodes.ts";
export type { WorkflowTrigger } from "./workflows/triggers.ts";
