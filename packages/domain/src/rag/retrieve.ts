import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { listSchemaProblems } from "@toolctrl/foundation/schema-problems";
import { z } from "zod";
import type { Embeddings } from "./embeddings.ts";
import { findVectorType } from "./find-vector-type.ts";
import type { QueryVector, RankedChunk, RankScope } from "./hit.ts";
import { rankBySimilarity } from "./rank-by-similarity.ts";
import { rankByWords } from "./rank-by-words.ts";

const text = z.string().refine((value) => !value.includes("\u0000") && value.isWellFormed(), { error: "expected well-formed Unicode" });

const questionSchema = z.strictObject({
  tenantId: text.min(1),
  collections: z.array(text.min(1)).max(100).optional(),
  query: text.min(1).max(10_000),
  limit: z.int().min(1).max(100),
});

/** What is asked for. `collections` left out is all of the tenant's; an empty list is none. */
export type RagQuestion = z.input<typeof questionSchema>;

/** A chunk that answers a question. */
export interface RagHit {
  readonly collection: string;
  readonly recordId: string;
  readonly title: string;
  readonly metadata: Readonly<Record<string, JsonValue>>;
  /** The chunk's place in its document, from 0. */
  readonly ordinal: number;
  readonly text: string;
  /** How it was found: `score` is the cosine of the angle between the vectors, or the rank of the words. */
  readonly by: "vector" | "words";
  readonly score: number;
}

/**
 * The chunks of a tenant that answer a question best. Chunks with a vector of the port's model are ranked by their cosine similarity to the
 * question, exactly; those without one by their words. Where there are both, the two rankings take turns, the vectors first: a
 * document that waits for its vectors is found meanwhile, and its scores cannot be compared with the others'.
 *
 * @throws CodedError `RAG.ARGUMENT`, and what the port throws; with `createNoEmbeddings()` for a port, words alone are asked
 */
export async function retrieve(db: Queryable, embeddings: Embeddings, question: RagQuestion): Promise<RagHit[]> {
  const { query, ...scope } = checkQuestion(question);
  if (scope.collections?.length === 0) return [];
  const vector = await embedQuestion(embeddings, query);
  const near = vector === null ? [] : await rankBySimilarity(db, scope, vector, await findVectorType(db));
  const worded = await rankByWords(db, scope, query, vector);
  return takeTurns(near.map(asHit("vector")), worded.map(asHit("words"))).slice(0, scope.limit);
}

function checkQuestion(question: RagQuestion): RankScope & { readonly query: string } {
  const parsed = questionSchema.safeParse(question);
  if (parsed.success) return { ...parsed.data, collections: parsed.data.collections ?? null };
  const [problem] = listSchemaProblems(parsed.error);
  throw new CodedError("RAG.ARGUMENT", `expected ${problem?.path || "the question"} to fit, got: ${problem?.message ?? ""}`, {
    facts: { path: problem?.path },
  });
}

/** Null where the port makes no vectors, and for a vector of zeros: it points nowhere, so nothing is near to it. */
async function embedQuestion(embeddings: Embeddings, query: string): Promise<QueryVector | null> {
  const { model } = embeddings;
  if (model === null || query.trim() === "") return null;
  const [vector] = await embeddings.embed([query]);
  return vector?.some((number) => number !== 0) === true ? { model, vector } : null;
}

function asHit(by: RagHit["by"]): (chunk: RankedChunk) => RagHit & { id: string } {
  return (chunk) => ({ ...chunk, by });
}

/** First of the one, first of the other, second of the one, and so on. A chunk got its vector between the two statements: once. */
function takeTurns(first: ReadonlyArray<RagHit & { id: string }>, second: ReadonlyArray<RagHit & { id: string }>): RagHit[] {
  const taken = new Map<string, RagHit>();
  for (let turn = 0; turn < Math.max(first.length, second.length); turn += 1) {
    for (const hit of [first[turn], second[turn]]) {
      if (hit === undefined || taken.has(hit.id)) continue;
      const { id, ...shown } = hit;
      taken.set(id, shown);
    }
  }
  return [...taken.values()];
}
