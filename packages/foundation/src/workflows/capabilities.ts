import type { BlockId } from "./block-ids.ts";
import type { WorkflowDefinition } from "./definition.ts";
import type { WorkflowNode } from "./nodes.ts";

/** What the native executor can do with a block. */
export interface NativeCapability {
  /** `safe`: it runs it by itself. `boundary`: the run rests there, and a native or hybrid continuation goes on behind it. */
  readonly native: "safe" | "boundary";
  /** What takes the safety away: a stored credential is read by the web app's bridge alone. */
  readonly except?: "credential";
}

export const NATIVE_CAPABILITIES: Readonly<Record<BlockId, NativeCapability>> = {
  email: { native: "safe" },
  httpRequest: { native: "safe", except: "credential" },
  if: { native: "safe" },
  switch: { native: "safe" },
  rowCreate: { native: "safe" },
  rowUpdate: { native: "safe" },
  rowDelete: { native: "safe" },
  waitForInput: { native: "boundary" },
};

/** A node that the native executor cannot run from end to end by itself, and why. */
export interface NativeGap {
  readonly nodeId: string;
  readonly block: BlockId;
  readonly reason: "credential" | "wait-boundary";
}

/** The gaps of a definition, in the order of its nodes; none when the native executor can run all of it at once. */
export function nativeGapsOf(definition: Pick<WorkflowDefinition, "nodes">): NativeGap[] {
  return definition.nodes.flatMap((node) => {
    const reason = gapOf(node);
    return reason === null ? [] : [{ nodeId: node.id, block: node.block, reason }];
  });
}

function gapOf(node: WorkflowNode): NativeGap["reason"] | null {
  const { native, except } = NATIVE_CAPABILITIES[node.block];
  if (native === "boundary") return "wait-boundary";
  return except === "credential" && "credentialId" in node.config && node.config.credentialId !== undefined ? "credential" : null;
}
