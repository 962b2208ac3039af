import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { EmbeddingsPeer } from "@toolctrl/testkit/embeddings-peer";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.rag-index",
  type: "rag.index.upsert",
  payload: { collection: "article", recordId: "7", text: "Send it back within 30 days. @30" },
};

/** An effect is a writing of the event's document, with its one chunk and that chunk's vector. The endpoint is asked without any effect. */
export function ragIndex(peer: EmbeddingsPeer): Subject {
  const env = {
    RAG_EMBEDDINGS_URL: peer.url,
    RAG_EMBEDDINGS_MODEL: "known",
    RAG_EMBEDDINGS_DEADLINE_MS: "1000",
    OUTBOUND_HTTP_ALLOW: `127.0.0.1:${peer.port}`,
  };
  return {
    name: "rag-index",
    queue: EVENT.queue,
    app() {
      const part = partOf("rag-index");
      return { ...part, env: { ...part.env, ...env } };
    },
    consumers: (installation) => consumersOf({ ...installation, appEnv: { ...installation.appEnv, ...env } }),
    publish: () => Promise.resolve(randomUUID()),
    async add(installation, eventId, generation) {
      await deliver(installation, EVENT, { eventId, generation });
      return jobIdFor(eventId, generation);
    },
    table: "RagDocument",
    peers: () => ({ embeddings: peer }),
    async effects({ database, tenantId }, eventId) {
      const { rows } = await database.pool.query<{ revision: number; vectors: number }>(
        `SELECT d."revision", (SELECT count(c."embedding")::int FROM "RagChunk" c WHERE c."tenantId" = d."tenantId") AS "vectors"
         FROM "RagDocument" d WHERE d."tenantId" = $1 AND d."eventId" = $2`,
        [tenantId, eventId],
      );
      // Half an effect is none, and a chunk too many shows as well.
      return rows.reduce((sum, { revision, vectors }) => sum + (vectors === 0 ? 0 : revision + vectors - 1), 0);
    },
    /** Where each delivery counts as younger than the one before, each writes the document again. */
    async removeProtection({ database }) {
      await database.pool.query(
        `CREATE SEQUENCE "lostPosition" MINVALUE -1000000 START -1000000;
         CREATE FUNCTION "losePosition"() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW."appliedPosition" := nextval('"lostPosition"'); RETURN NEW; END $$;
         CREATE TRIGGER "losePosition" BEFORE INSERT ON "RagDocument" FOR EACH ROW EXECUTE FUNCTION "losePosition"()`,
      );
    },
  };
}
