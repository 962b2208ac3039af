import { CodedError } from "@toolctrl/foundation/errors";
import type { GuardedResponse } from "@toolctrl/runtime/guarded-http";
import { z } from "zod";

/** Besides 5xx: too slow, too early, too many. */
const RETRIED: ReadonlySet<number> = new Set([408, 425, 429]);

// A name such as `context_length_exceeded`. Anything longer or freer may repeat what was sent, the key among it.
const refusalSchema = z.looseObject({ error: z.looseObject({ code: z.string().regex(/^[a-z]{2,20}(?:_[a-z]{2,20}){0,5}$/) }) });

/** What is wrong with an answer by its status, or null for one to be read. The error holds nothing of `secret`. */
export function judgeEmbeddingsAnswer({ status, body }: Pick<GuardedResponse, "status" | "body">, secret?: string): CodedError | null {
  if (status >= 200 && status < 300) return null;
  const named = reasonOf(body);
  const reason = named !== null && secret !== undefined && named.includes(secret) ? null : named;
  const code = RETRIED.has(status) || status >= 500 ? "RAG.EMBEDDINGS_FAILED" : "RAG.EMBEDDINGS_REJECTED";
  const got = reason === null ? `${status}` : `${status} (${reason})`;
  return new CodedError(code, `expected the embeddings endpoint to answer 2xx, got ${got}`, { facts: { status, reason } });
}

function reasonOf(body: Buffer): string | null {
  try {
    return refusalSchema.parse(JSON.parse(body.toString("utf8"))).error.code;
  } catch {
    // Most refusals say more to people than to programs; the status is enough.
    return null;
  }
}
