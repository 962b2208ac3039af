import type { Embeddings } from "./embeddings.ts";

/** No vectors: documents are indexed and retrieved by their words. */
export function createNoEmbeddings(): Embeddings {
  return { model: null, embed: (texts) => Promise.resolve(texts.map(() => null)) };
}
