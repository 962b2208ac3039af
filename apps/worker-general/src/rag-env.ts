import { integer, lessThan, optionalText, optionalUrl, type EnvRule } from "@toolctrl/runtime/env";

/** How documents are cut and embedded. */
export const ragEnv = {
  RAG_CHUNK_CHARACTERS: integer({
    min: 200,
    max: 20_000,
    fallback: 1200,
    about: "Most characters of a chunk of a document, its overlap included; changing it cuts a document anew at its next event",
  }),
  RAG_CHUNK_OVERLAP: integer({
    min: 0,
    max: 9999,
    fallback: 200,
    about: "Characters that a chunk repeats from the end of the one before; less than half of RAG_CHUNK_CHARACTERS",
  }),
  RAG_CONCURRENCY: integer({ min: 1, max: 100, fallback: 5, about: "Documents indexed at the same time" }),
  RAG_EMBEDDINGS_URL: optionalUrl({
    protocols: ["https:", "http:"],
    about: "Endpoint that speaks OpenAI's POST /v1/embeddings, with its whole path; unset means no vectors, and retrieval by words",
  }),
  RAG_EMBEDDINGS_MODEL: optionalText({
    pattern: /^[\x21-\x7e]{1,200}$/,
    accepts: "the name of a model",
    printable: true,
    about: "Model of the vectors; required with RAG_EMBEDDINGS_URL. Changing it embeds a document anew at its next event",
  }),
  RAG_EMBEDDINGS_API_KEY: optionalText({
    pattern: /^[\x21-\x7e]{1,4096}$/,
    accepts: "a key without blanks",
    about: "Bearer token for the endpoint; unset sends none",
  }),
  RAG_EMBEDDINGS_BATCH_SIZE: integer({ min: 1, max: 512, fallback: 64, about: "Most texts of one request to the endpoint" }),
  RAG_EMBEDDINGS_DEADLINE_MS: integer({
    min: 100,
    max: 10 * 60 * 1000,
    fallback: 20_000,
    about: "Longest time (ms) of all requests for one document together; less than OUTBOX_CLAIM_TTL_MS",
  }),
};

const deadline = lessThan("RAG_EMBEDDINGS_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS");

export const RAG_RULES: readonly EnvRule[] = [
  {
    // Each chunk has to bring on what it repeats, and as much again.
    names: ["RAG_CHUNK_OVERLAP", "RAG_CHUNK_CHARACTERS"],
    check({ RAG_CHUNK_OVERLAP: overlap, RAG_CHUNK_CHARACTERS: size }) {
      if (Number(overlap) * 2 < Number(size)) return null;
      return `RAG_CHUNK_OVERLAP: expected less than half of RAG_CHUNK_CHARACTERS (${String(size)}), got ${String(overlap)}`;
    },
  },
  {
    // Vectors are kept with the name of their model: without it nobody could tell later which ones to compare.
    names: ["RAG_EMBEDDINGS_URL", "RAG_EMBEDDINGS_MODEL"],
    check: (values) =>
      values["RAG_EMBEDDINGS_URL"] !== undefined && values["RAG_EMBEDDINGS_MODEL"] === undefined
        ? "RAG_EMBEDDINGS_MODEL: expected a value with RAG_EMBEDDINGS_URL, got none"
        : null,
  },
  {
    // A call that outlives an unrenewed claim would still be running when the next delivery takes it for dead.
    names: ["RAG_EMBEDDINGS_URL", ...deadline.names],
    check: (values) => (values["RAG_EMBEDDINGS_URL"] === undefined ? null : deadline.check(values)),
  },
];
