import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import {
  checkLanguage,
  chunksOf,
  indexDocument,
  planDocument,
  ragChangeFor,
  removeDocument,
  type Chunk,
  type Embeddings,
  type PieceSizes,
  type RagChange,
} from "@toolctrl/domain/rag";
import { errorCodeOf } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";

const NAME = "rag-index";
const SNOOZE_MS = 50;

export interface RagConsumerDeps {
  readonly pool: Database["pool"];
  readonly embeddings: Embeddings;
  readonly sizes: PieceSizes;
  readonly concurrency: number;
}

/**
 * Keeps the documents of retrieval. Texts without a vector are embedded first, outside of any transaction; then document, chunks and receipt
 * are written in one. A crash between the two costs the price of the embeddings, which are asked for again, and nothing else.
 */
export function createRagConsumer(deps: RagConsumerDeps): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.rag-index",
    concurrency: deps.concurrency,
    async handle(delivery) {
      const change = ragChangeFor(delivery);
      if (change.kind === "upsert") return upsert(delivery, change, deps);
      const key = { tenantId: delivery.tenantId, collection: change.collection, recordId: change.recordId };
      return databaseEffect(deps.pool, NAME, delivery, (tx) => removeDocument(tx, key, eventOf(delivery)));
    },
  };
}

async function upsert(delivery: Delivery, change: RagChange & { kind: "upsert" }, deps: RagConsumerDeps): Promise<JobOutcome> {
  const { pool, embeddings, sizes } = deps;
  await checkLanguage(pool, change.language);
  const document = { ...change, tenantId: delivery.tenantId, chunks: chunksOf(change.text, sizes), model: embeddings.model };
  const vectors = await embedMissing(delivery, document, deps);
  try {
    return await databaseEffect(pool, NAME, delivery, (tx) => indexDocument(tx, { ...document, vectors }, eventOf(delivery)));
  } catch (error) {
    if (errorCodeOf(error) !== "RAG.CHANGED") throw error;
    // Another event of the record came in between; what is missing now is found when the delivery is tried again, using no attempt.
    return { kind: "snooze", untilMs: Date.now() + SNOOZE_MS };
  }
}

async function embedMissing(
  delivery: Delivery,
  document: { readonly tenantId: string; readonly collection: string; readonly recordId: string; readonly chunks: readonly Chunk[] },
  { pool, embeddings }: RagConsumerDeps,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const missing = await planDocument(pool, document, eventOf(delivery), embeddings.model);
  if (missing.size === 0) return new Map();
  const answers = await embeddings.embed([...missing.values()], { signal: delivery.signal });
  return new Map(
    [...missing.keys()].flatMap((hash, index) => {
      const vector = answers[index];
      return vector === null || vector === undefined ? [] : [[hash, vector] as const];
    }),
  );
}

function eventOf({ eventId, effectEpoch, envelope }: Delivery) {
  return { eventId, effectEpoch, position: envelope.position };
}
