import { CodedError } from "../errors.ts";
import { branchesOf } from "./branches.ts";
import type { WorkflowDefinition } from "./definition.ts";
import { linkNodes, type Links } from "./links.ts";
import type { WorkflowNode } from "./nodes.ts";

/** A checked workflow, as a runner walks it. A question about a node that it does not have throws CodedError `WORKFLOW.ARGUMENT`. */
export interface WorkflowGraph extends Links {
  readonly nodes: ReadonlyMap<string, WorkflowNode>;
  branchesOf(node: WorkflowNode): string[];
}

/** The graph of a definition that `checkWorkflow` has passed. */
export function graphOf(definition: WorkflowDefinition): WorkflowGraph {
  const nodes = new Map(definition.nodes.map((node) => [node.id, node]));
  const links = linkNodes(definition.edges);
  const known = (nodeId: string): string => {
    if (nodes.has(nodeId)) return nodeId;
    throw new CodedError("WORKFLOW.ARGUMENT", `expected a node of the workflow, got ${JSON.stringify(nodeId)}`, { facts: { nodeId } });
  };
  return {
    nodes,
    outgoing: (nodeId) => links.outgoing(known(nodeId)),
    incoming: (nodeId) => links.incoming(known(nodeId)),
    followers: (nodeId) => links.followers(known(nodeId)),
    branchesOf,
  };
}
