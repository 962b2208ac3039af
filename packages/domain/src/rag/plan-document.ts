import type { Queryable } from "@toolctrl/db/sql";
import type { Chunk } from "./chunks-of.ts";
import type { ChangingEvent, DocumentKey } from "./document.ts";
import { findDocument } from "./find-document.ts";
import { listChunks } from "./list-chunks.ts";
import { matchChunks } from "./match-chunks.ts";

/** The texts that `indexDocument` will need vectors of, each once, by their hashes. */
export type MissingTexts = ReadonlyMap<string, string>;

/**
 * What has to be embedded before a document is written, which happens outside of any transaction; none where the document is of this event
 * or a younger one already. Reads alone: what it finds may change until the document is written, and `indexDocument` looks again.
 */
export async function planDocument(
  db: Queryable,
  document: DocumentKey & { readonly chunks: readonly Chunk[] },
  event: ChangingEvent,
  model: string | null,
): Promise<MissingTexts> {
  if (model === null) return new Map();
  const found = await findDocument(db, document, event);
  if (found?.older === false) return new Map();
  const { embed, insert } = matchChunks(found === null ? [] : await listChunks(db, document), document.chunks, model);
  const missing = new Set([...embed, ...insert].map(({ contentHash }) => contentHash));
  return new Map(document.chunks.flatMap(({ contentHash, text }) => (missing.has(contentHash) ? [[contentHash, text]] : [])));
}
