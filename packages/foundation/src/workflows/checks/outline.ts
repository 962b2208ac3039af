import { z } from "zod";
import { BLOCKS, isBlockId } from "../block-ids.ts";
import { type Branches, branchesOfBlock } from "../branches.ts";
import { MAX_EDGES, MAX_NODES, type WorkflowEdge } from "../definition.ts";
import { linkNodes, type Links } from "../links.ts";

/** A node, as far as the graph asks about it. */
export interface OutlineNode {
  readonly id: string;
  readonly block: string;
  /** Null where they cannot be told: of an unknown block, or of cases without names. */
  readonly branches: Branches | null;
  /** Whether a run may rest there; of an unknown block it is not ruled out. */
  readonly mayWait: boolean;
}

/** What is left of a definition when the graph alone is looked at. */
export interface Outline {
  readonly start: string;
  readonly nodes: readonly OutlineNode[];
  readonly ids: ReadonlySet<string>;
  readonly edges: readonly WorkflowEdge[];
  readonly links: Links;
}

const outlineSchema = z.object({
  start: z.string(),
  nodes: z
    .array(z.object({ id: z.string(), block: z.unknown(), config: z.unknown() }))
    .min(1)
    .max(MAX_NODES),
  edges: z
    .array(
      z.object({
        from: z.string(),
        branch: z.string().default("next"),
        to: z.string().nullable(),
        loop: z.literal(true).optional().catch(undefined),
      }),
    )
    .max(MAX_EDGES),
});

const casesSchema = z.object({ cases: z.array(z.object({ name: z.string() })) });

/**
 * Reads the graph of a definition that may be wrong elsewhere, so that one answer can name what is wrong with both.
 * @returns null where a node has no id, or an edge no ends: then nothing that is said of the graph would hold
 */
export function outlineOf(input: unknown): Outline | null {
  const parsed = outlineSchema.safeParse(input);
  if (!parsed.success) return null;
  const { start, edges } = parsed.data;
  const nodes = parsed.data.nodes.map(({ id, block, config }) => outlineNode(id, block, config));
  return { start, nodes, ids: new Set(nodes.map(({ id }) => id)), edges, links: linkNodes(edges) };
}

function outlineNode(id: string, block: unknown, config: unknown): OutlineNode {
  if (typeof block !== "string" || !isBlockId(block)) return { id, block: String(block), branches: null, mayWait: true };
  const cases = block === "switch" ? casesSchema.safeParse(config).data?.cases : [];
  return { id, block, branches: cases === undefined ? null : branchesOfBlock(block, cases), mayWait: BLOCKS[block].waits };
}
