import { z } from "zod";
import { nodeSchema } from "./nodes.ts";
import { triggerSchema } from "./triggers.ts";

export const MAX_NODES = 200;
export const MAX_EDGES = 500;

/** Where a branch of a node leads. Several edges of one branch run in parallel; a node with several of them coming in waits for all. */
export const edgeSchema = z.strictObject({
  // Any text: whether there is such a node or branch is a question to the graph, which answers better than a pattern.
  from: z.string(),
  branch: z.string().default("next"),
  /** Null ends the branch on purpose. */
  to: z.string().nullable(),
  /** Set on the edge that goes back, and on no other. */
  loop: z.literal(true).optional(),
});

/** The shape of a workflow. Whether its graph holds is checked by `checkWorkflow`. */
export const definitionSchema = z.strictObject({
  name: z.string().min(1).max(200),
  trigger: triggerSchema,
  start: z.string(),
  nodes: z.array(nodeSchema).min(1).max(MAX_NODES),
  edges: z.array(edgeSchema).max(MAX_EDGES),
});

export type WorkflowEdge = z.output<typeof edgeSchema>;
/** A workflow as it is kept; what was left out is filled in. */
export type WorkflowDefinition = z.output<typeof definitionSchema>;
/** A workflow as it is given. */
export type WorkflowDefinitionInput = z.input<typeof definitionSchema>;
