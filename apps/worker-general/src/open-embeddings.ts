import { createHttpEmbeddings, createNoEmbeddings, type Embeddings } from "@toolctrl/domain/rag";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { WorkerGeneralEnv } from "./env.ts";

/** The embeddings that the environment names, or none. */
export function openEmbeddings(env: WorkerGeneralEnv, http: Pick<GuardedHttp, "request">): Embeddings {
  const { RAG_EMBEDDINGS_URL: url, RAG_EMBEDDINGS_MODEL: model } = env;
  if (url === undefined || model === undefined) return createNoEmbeddings();
  return createHttpEmbeddings({
    http,
    url,
    model,
    apiKey: env.RAG_EMBEDDINGS_API_KEY,
    batchSize: env.RAG_EMBEDDINGS_BATCH_SIZE,
    deadlineMs: env.RAG_EMBEDDINGS_DEADLINE_MS,
  });
}
