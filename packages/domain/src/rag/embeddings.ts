/** The coordinates of a text; null where none were made. */
export type Embedding = readonly number[] | null;

/** Turns texts into vectors. The tables keep which model a vector is of; vectors of different models are never compared. */
export interface Embeddings {
  /** The model that the vectors are of; null where none are made, and every answer is null. */
  readonly model: string | null;
  /**
   * One answer for each text, in their order. All vectors of an answer have the same length, and finite numbers. The same text is given the
   * same vector; asking twice has no effect but its price.
   * @throws CodedError `RAG.EMBEDDINGS_REJECTED`, `RAG.EMBEDDINGS_FAILED`, `RAG.EMBEDDINGS_ANSWER`; `HTTP.*` of the way there
   */
  embed(texts: readonly string[], options?: { readonly signal?: AbortSignal }): Promise<Embedding[]>;
}
