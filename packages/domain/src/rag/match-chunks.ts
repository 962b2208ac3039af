import type { Chunk } from "./chunks-of.ts";
import type { StoredChunk } from "./list-chunks.ts";

/** What has to be done so that a document's chunks become others. */
export interface ChunkChanges {
  /** Stay, with the vectors they have; some in another place. */
  readonly keep: ReadonlyArray<{ readonly id: string; readonly ordinal: number }>;
  /** Stay, and need a vector: they have none, or one of another model. */
  readonly embed: ReadonlyArray<{ readonly id: string; readonly ordinal: number; readonly contentHash: string }>;
  readonly insert: readonly Chunk[];
  readonly remove: readonly string[];
}

/**
 * Pairs the chunks that are there with those that shall be there, by what they say. `model` is the one whose vectors are wanted, null where
 * none are: then vectors that are there stay, and may be of use again.
 */
export function matchChunks(stored: readonly StoredChunk[], wanted: readonly Chunk[], model: string | null): ChunkChanges {
  const free = new Map<string, StoredChunk[]>();
  for (const chunk of stored) free.set(chunk.contentHash, [...(free.get(chunk.contentHash) ?? []), chunk]);
  const changes = { keep: [] as ChunkChanges["keep"][number][], embed: [] as ChunkChanges["embed"][number][], insert: [] as Chunk[] };
  for (const chunk of wanted) {
    const { ordinal, contentHash } = chunk;
    const found = free.get(contentHash)?.shift();
    if (found === undefined) changes.insert.push(chunk);
    else if (model === null || found.model === model) changes.keep.push({ id: found.id, ordinal });
    else changes.embed.push({ id: found.id, ordinal, contentHash });
  }
  return { ...changes, remove: [...free.values()].flat().map(({ id }) => id) };
}
