import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import type { Chunk } from "./chunks-of.ts";
import type { ChangingEvent, DocumentContent, DocumentKey } from "./document.ts";
import { insertChunks } from "./insert-chunks.ts";
import { listChunks } from "./list-chunks.ts";
import { matchChunks } from "./match-chunks.ts";
import { placeChunks } from "./place-chunks.ts";
import { removeChunks } from "./remove-chunks.ts";
import { setVectors } from "./set-vectors.ts";
import { writeDocument } from "./write-document.ts";

/** A document to be written, with the vectors of its texts that were missing, by content hash. */
export interface IndexedDocument extends DocumentKey, DocumentContent {
  readonly chunks: readonly Chunk[];
  readonly model: string | null;
  readonly vectors: ReadonlyMap<string, readonly number[]>;
}

/** What came of an event. `applied` is false where a younger one had been there. */
export interface IndexReport {
  readonly applied: boolean;
  readonly kept: number;
  readonly embedded: number;
  readonly inserted: number;
  readonly removed: number;
}

export const NOT_APPLIED: IndexReport = { applied: false, kept: 0, embedded: 0, inserted: 0, removed: 0 };

/** Rows of one statement: a few MB of text with the vectors of large models. */
const ROWS_AT_ONCE = 100;

/**
 * Writes a document and its chunks as of an event, unless it is of a younger one already. Chunks that say the same as before keep their
 * rows and their vectors.
 *
 * @throws CodedError `RAG.CHANGED` when another event has changed the document since its missing texts were embedded, so that a vector is
 * missing now; everything is to be rolled back then.
 */
export async function indexDocument(tx: Queryable, document: IndexedDocument, event: ChangingEvent): Promise<IndexReport> {
  const { model, language } = document;
  if (!(await writeDocument(tx, document, event, document))) return NOT_APPLIED;
  const { keep, embed, insert, remove } = matchChunks(await listChunks(tx, document), document.chunks, model);
  const embedded = embed.map((chunk) => ({ ...chunk, vector: vectorOf(document, chunk) }));
  const inserted = insert.map((chunk) => ({ ...chunk, vector: model === null ? null : vectorOf(document, chunk) }));
  await removeChunks(tx, remove);
  await placeChunks(tx, language, [...keep, ...embed]);
  if (model !== null) for (const part of partsOf(embedded)) await setVectors(tx, model, part);
  for (const part of partsOf(inserted)) await insertChunks(tx, document, part);
  return { applied: true, kept: keep.length, embedded: embed.length, inserted: insert.length, removed: remove.length };
}

function vectorOf({ vectors, collection, recordId }: IndexedDocument, { contentHash }: Pick<Chunk, "contentHash">): readonly number[] {
  const vector = vectors.get(contentHash);
  if (vector !== undefined) return vector;
  throw new CodedError("RAG.CHANGED", `expected the chunks of ${collection} ${recordId} to be those that were read before, got others`, {
    facts: { collection },
  });
}

function partsOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / ROWS_AT_ONCE) }, (_, n) => items.slice(n * ROWS_AT_ONCE, (n + 1) * ROWS_AT_ONCE));
}
