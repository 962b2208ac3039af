import { z } from "zod";
import { blockConfigSchemas } from "./block-configs.ts";
import { BLOCK_IDS, type BlockId } from "./block-ids.ts";
import { unknownKind } from "./suggest.ts";
import { slugSchema } from "./texts.ts";

const retrySchema = z.strictObject({
  /** The first one counts. */
  maxAttempts: z.int().min(1).max(10).default(3),
  /** Between two attempts. */
  backoffSeconds: z.int().min(1).max(3_600).default(30),
});

export type NodeRetry = z.output<typeof retrySchema>;

/** What a peer refuses now it may take later; what the product does itself fails again. */
const HTTP_RETRY: NodeRetry = { maxAttempts: 3, backoffSeconds: 30 };
const NO_RETRY: NodeRetry = { maxAttempts: 1, backoffSeconds: 30 };

function nodeOf<Id extends BlockId>(block: Id) {
  return z.strictObject({
    id: slugSchema,
    block: z.literal(block),
    /** What people call it. */
    name: z.string().min(1).max(200).optional(),
    config: blockConfigSchemas[block],
    retry: retrySchema.optional(),
  });
}

/** A step of a workflow. */
export const nodeSchema = z.discriminatedUnion(
  "block",
  [
    nodeOf("email"),
    nodeOf("httpRequest"),
    nodeOf("if"),
    nodeOf("switch"),
    nodeOf("rowCreate"),
    nodeOf("rowUpdate"),
    nodeOf("rowDelete"),
    nodeOf("waitForInput"),
  ],
  { error: unknownKind("block", BLOCK_IDS, "block") },
);

export type WorkflowNode = z.output<typeof nodeSchema>;
/** A step whose block is `Id`. */
export type NodeOf<Id extends BlockId> = Extract<WorkflowNode, { block: Id }>;

/** How often a node is tried, and how many seconds lie between two attempts. */
export function retryOf(node: Pick<WorkflowNode, "block" | "retry">): NodeRetry {
  return node.retry ?? (node.block === "httpRequest" ? HTTP_RETRY : NO_RETRY);
}
