import { CodedError } from "@toolctrl/foundation/errors";
import type { GuardedResponse } from "@toolctrl/runtime/guarded-http";
import { z } from "zod";
import { MAX_DIMENSION } from "./limits.ts";

/** The largest number that PostgreSQL's `real` holds. */
const MAX_REAL = 3.4028234663852886e38;

const answerSchema = z.looseObject({
  data: z.array(
    z.looseObject({
      index: z.int().nonnegative(),
      embedding: z.array(z.number().min(-MAX_REAL).max(MAX_REAL)).min(1).max(MAX_DIMENSION),
    }),
  ),
});

/**
 * The vectors of an answer, in the order of the `count` texts that were asked for. Each number is rounded to what the tables hold.
 * @throws CodedError `RAG.EMBEDDINGS_ANSWER`; never with anything of the answer's text, which may repeat what was sent
 */
export function parseEmbeddingsAnswer({ body, truncated }: Pick<GuardedResponse, "body" | "truncated">, count: number): number[][] {
  if (truncated) throw badAnswer(count, `more than ${body.length} bytes`);
  const parsed = answerSchema.safeParse(parseJson(body));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw badAnswer(count, `${issue?.path.join(".") || "the whole"}: ${issue?.message ?? "invalid"}`);
  }
  const { data } = parsed.data;
  if (data.length !== count) throw badAnswer(count, `${data.length}`);
  const vectors: number[][] = [];
  for (const { index, embedding } of data) {
    if (index >= count) throw badAnswer(count, `one with the index ${index}`);
    if (vectors[index] !== undefined) throw badAnswer(count, `two with the index ${index}`);
    vectors[index] = embedding.map(Math.fround);
  }
  return vectors;
}

/** @throws CodedError `RAG.EMBEDDINGS_ANSWER` where one vector is longer than another. */
export function assertOneDimension(vectors: readonly (readonly number[])[]): void {
  const lengths = new Set(vectors.map((vector) => vector.length));
  if (lengths.size > 1) throw badAnswer(vectors.length, `vectors of the lengths ${[...lengths].sort((a, b) => a - b).join(", ")}`);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    // What is no JSON fits no schema either.
    return undefined;
  }
}

function badAnswer(count: number, got: string): CodedError {
  return new CodedError("RAG.EMBEDDINGS_ANSWER", `expected a vector for each of ${count} texts, all of one length, got ${got}`, {
    facts: { count },
  });
}
