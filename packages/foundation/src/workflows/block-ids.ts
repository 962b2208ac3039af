/** What the registry says of a block apart from its configuration. */
export interface BlockTraits {
  /** Branches that need an edge, if only one that ends them. A `switch` has one more for each case. */
  readonly requiredBranches: readonly string[];
  /** Branches that end where they have no edge. */
  readonly optionalBranches: readonly string[];
  /** Whether a run rests here until a person or the clock moves it on. */
  readonly waits: boolean;
}

const STEP: BlockTraits = { requiredBranches: ["next"], optionalBranches: [], waits: false };

/** Every block a workflow can be made of. There are no others. */
export const BLOCKS = {
  email: STEP,
  httpRequest: STEP,
  if: { requiredBranches: ["then", "else"], optionalBranches: [], waits: false },
  switch: { requiredBranches: [], optionalBranches: ["default"], waits: false },
  rowCreate: STEP,
  rowUpdate: STEP,
  rowDelete: STEP,
  waitForInput: { requiredBranches: ["next"], optionalBranches: ["expired"], waits: true },
} as const satisfies Record<string, BlockTraits>;

export type BlockId = keyof typeof BLOCKS;
export const BLOCK_IDS = Object.keys(BLOCKS) as BlockId[];

export function isBlockId(block: string): block is BlockId {
  return Object.hasOwn(BLOCKS, block);
}
