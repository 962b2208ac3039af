import { CodedError } from "@toolctrl/foundation/errors";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Embeddings } from "./embeddings.ts";
import { judgeEmbeddingsAnswer } from "./judge-embeddings-answer.ts";
import { assertOneDimension, parseEmbeddingsAnswer } from "./parse-embeddings-answer.ts";
import { MAX_DIMENSION } from "./limits.ts";

export interface HttpEmbeddingsOptions {
  /** The one way out; it reaches public addresses and those that the environment allows. */
  readonly http: Pick<GuardedHttp, "request">;
  /** The endpoint itself, `https://host/v1/embeddings`. */
  readonly url: string;
  readonly model: string;
  /** Sent as a bearer token where it is set; in no log and in no error. */
  readonly apiKey?: string | undefined;
  /** Most texts of a request. */
  readonly batchSize: number;
  /** The one limit on all requests of a call together, ms. */
  readonly deadlineMs: number;
}

/** Requests of one call that run at the same time. */
const LANES = 4;
/** A number as JSON writes it, its comma included; what a vector is packed in comes on top. */
const NUMBER_BYTES = 26;
const ENVELOPE_BYTES = 4096;

/** Embeddings of an endpoint that speaks OpenAI's `POST /v1/embeddings`, as many servers of models do. */
export function createHttpEmbeddings(options: HttpEmbeddingsOptions): Embeddings {
  return {
    model: options.model,
    async embed(texts, { signal } = {}) {
      const batches = batchesOf(texts, options.batchSize);
      const endsAtMs = performance.now() + options.deadlineMs;
      const answers = await inLanes(batches, signal, (batch, stop) => ask(batch, endsAtMs, stop, options));
      const vectors = answers.flat();
      assertOneDimension(vectors);
      return vectors;
    },
  };
}

async function ask(
  texts: readonly string[],
  endsAtMs: number,
  signal: AbortSignal,
  { http, url, model, apiKey, deadlineMs }: HttpEmbeddingsOptions,
): Promise<number[][]> {
  const leftMs = Math.floor(endsAtMs - performance.now());
  if (leftMs < 1) {
    throw new CodedError("RAG.EMBEDDINGS_FAILED", `expected all embeddings of a document within ${deadlineMs} ms, got only some`, {
      facts: { deadlineMs },
    });
  }
  const answer = await http.request({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ model, input: texts, encoding_format: "float" }),
    deadlineMs: leftMs,
    maxResponseBytes: ENVELOPE_BYTES + texts.length * (MAX_DIMENSION * NUMBER_BYTES + ENVELOPE_BYTES),
    signal,
  });
  const refusal = judgeEmbeddingsAnswer(answer, apiKey);
  if (refusal !== null) throw refusal;
  return parseEmbeddingsAnswer(answer, texts.length);
}

function batchesOf(texts: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(texts.length / size) }, (_, n) => texts.slice(n * size, (n + 1) * size));
}

/** Works through all items, a few at a time; the first error stops the others and is thrown. */
async function inLanes<T, R>(
  items: readonly T[],
  signal: AbortSignal | undefined,
  work: (item: T, stop: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const failed = new AbortController();
  const stop = signal === undefined ? failed.signal : AbortSignal.any([failed.signal, signal]);
  const results: R[] = [];
  const queue = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failed.signal.aborted) return;
      results[index] = await work(item, stop);
    }
  };
  const lanes = Array.from({ length: Math.min(LANES, items.length) }, lane);
  try {
    await Promise.all(lanes);
  } finally {
    failed.abort(new Error("another request of the same call failed"));
    await Promise.allSettled(lanes);
  }
  return results;
}
