import { inspect } from "node:util";
import type { Consumer } from "@toolctrl/consumer/define";
import { runConsumers } from "@toolctrl/consumer-testkit/installation";
import { transaction } from "@toolctrl/db/client";
import { createHttpEmbeddings, createNoEmbeddings, retrieve, type Embeddings } from "@toolctrl/domain/rag";
import { createLogger } from "@toolctrl/runtime/logger";
import { createGuardedHttp, type GuardedHttp } from "@toolctrl/runtime/guarded-http";
import { startEmbeddingsPeer, type EmbeddingsPeer } from "@toolctrl/testkit/embeddings-peer";
import { startTcpProxy, type TcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createRagConsumer } from "../src/consumers/create-rag-consumer.ts";
import { deliveryOf, impatientPool, type DeliveryParts } from "./delivery-of.ts";
import { openOneQueue, type OneQueueRig } from "./one-queue-rig.ts";

const KEY = "sk-very-secret";
const MODEL = "known";
const SIZES = { maxCharacters: 200, overlapCharacters: 20 };

let peer: EmbeddingsPeer;
/** Between the app and the endpoint. */
let network: TcpProxy;
let http: GuardedHttp;
let rig: OneQueueRig;
let embeddings: Embeddings;
let consumer: Consumer;

beforeAll(async () => {
  peer = await startEmbeddingsPeer();
  network = await startTcpProxy({ toPort: peer.port });
  http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  rig = await openOneQueue("rag-index", {
    RAG_EMBEDDINGS_URL: `http://127.0.0.1:${network.port}/v1/embeddings`,
    RAG_EMBEDDINGS_MODEL: MODEL,
    RAG_EMBEDDINGS_API_KEY: KEY,
    RAG_EMBEDDINGS_BATCH_SIZE: "16",
    RAG_CHUNK_CHARACTERS: String(SIZES.maxCharacters),
    RAG_CHUNK_OVERLAP: String(SIZES.overlapCharacters),
    OUTBOUND_HTTP_ALLOW: `127.0.0.1:${network.port}`,
  });
  embeddings = createHttpEmbeddings({ http, url: peer.url, model: MODEL, apiKey: KEY, batchSize: 16, deadlineMs: 20_000 });
  consumer = createRagConsumer({ pool: rig.database.pool, embeddings, sizes: SIZES, concurrency: 5 });
});

afterAll(async () => {
  await rig.close();
  await http.close();
  await network.close();
  await peer.close();
});

let askedBefore = 0;
/** The texts that the endpoint was asked for in this test. */
const asked = (): string[] => peer.inputs().slice(askedBefore);

beforeEach(async () => {
  await rig.database.pool.query(`TRUNCATE "RagDocument" CASCADE`);
  peer.respond(null);
  askedBefore = peer.inputs().length;
});

const ARTICLE = { collection: "article", recordId: "7" };
const UPSERT = { ...ARTICLE, title: "Returns", text: "Send it back within 30 days. @30", language: "english" };
const upsertOf = (parts: Partial<DeliveryParts> = {}) => deliveryOf({ type: "rag.index.upsert", payload: UPSERT, ...parts });
const deletionOf = (parts: Partial<DeliveryParts> = {}) => deliveryOf({ type: "rag.index.delete", payload: ARTICLE, ...parts });

/** Paragraphs that are a chunk each. */
const textOf = (...names: string[]): string => names.map((name) => `${name} ${"and so on, ".repeat(14)}${name}\n\n`).join("");

async function documents(): Promise<Array<Record<string, unknown>>> {
  const { rows } = await rig.database.pool.query<Record<string, unknown>>(
    `SELECT d."tenantId", d."title", d."eventId", d."appliedPosition"::int AS "position", d."revision", d."deletedAt" IS NOT NULL AS "deleted",
       count(c."id")::int AS "chunks", count(c."embedding")::int AS "vectors"
     FROM "RagDocument" d LEFT JOIN "RagChunk" c USING ("tenantId", "collection", "recordId")
     GROUP BY d."tenantId", d."collection", d."recordId" ORDER BY d."tenantId", d."recordId"`,
  );
  return rows;
}

async function receiptOf(eventId: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await rig.database.pool.query<Record<string, unknown>>(
    `SELECT "outcome", "result", "detail" FROM "OutboxReceipt" WHERE "eventId" = $1 ORDER BY "effectEpoch" DESC`,
    [eventId],
  );
  return rows[0];
}

/** Holds the endpoint's answers back until it is told to let go. */
function holdAnswers(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  onTestFinished(() => resolve());
  peer.respond(async ({ text }) => {
    await promise;
    const { input } = JSON.parse(text) as { input: string[] };
    return { body: JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, 0, 0, 0] })) }) };
  });
  return () => resolve();
}

describe("rag-index, with no claim before it", () => {
  test("writes one document and one receipt for 20 deliveries of one event at once", async () => {
    const event = upsertOf({ position: 3 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => consumer.handle(event)));
    const result = { applied: true, kept: 0, embedded: 0, inserted: 1, removed: 0 };
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ({ kind: "done", result })));
    expect(await documents()).toEqual([
      { tenantId: "acme", title: "Returns", eventId: event.eventId, position: 3, revision: 1, deleted: false, chunks: 1, vectors: 1 },
    ]);
  });

  test("is done with an event that a younger one has overtaken, and asks for nothing", async () => {
    await consumer.handle(deletionOf({ position: 2 }));
    const late = upsertOf({ position: 1 });
    expect(await consumer.handle(late)).toMatchObject({ kind: "done", result: { applied: false } });
    expect(await documents()).toMatchObject([{ title: "", position: 2, deleted: true, chunks: 0 }]);
    expect(await receiptOf(late.eventId)).toMatchObject({ outcome: "done", result: { applied: false } });
    expect(asked()).toEqual([]);
  });

  test("waits for the endpoint outside of any transaction: a younger event is written meanwhile, and wins", async () => {
    const letGo = holdAnswers();
    const old = consumer.handle(upsertOf({ position: 1 }));
    await waitFor(() => asked().length === 1, { what: "the endpoint to be asked" });
    const { rows } = await rig.database.pool.query(
      `SELECT "query" FROM pg_stat_activity WHERE "datname" = current_database() AND "state" LIKE 'idle in transaction%'`,
    );
    expect(rows).toEqual([]);
    await consumer.handle(deletionOf({ position: 2 }));
    letGo();
    expect(await old).toMatchObject({ kind: "done", result: { applied: false } });
    expect(await documents()).toMatchObject([{ position: 2, deleted: true, chunks: 0 }]);
  });

  test("looks again, using no attempt, when a chunk it meant to keep was taken away meanwhile", async () => {
    await consumer.handle(upsertOf({ position: 1, payload: { ...UPSERT, text: textOf("@10", "@20") } }));
    const letGo = holdAnswers();
    const last = upsertOf({ position: 3, payload: { ...UPSERT, text: textOf("@10", "@30") } });
    const overtaken = consumer.handle(last);
    await waitFor(() => asked().length === 3, { what: "the endpoint to be asked" });
    const other = createRagConsumer({ pool: rig.database.pool, embeddings: createNoEmbeddings(), sizes: SIZES, concurrency: 1 });
    await other.handle(upsertOf({ position: 2 }));
    letGo();
    expect(await overtaken).toEqual({ kind: "snooze", untilMs: expect.any(Number) });
    expect(await receiptOf(last.eventId)).toBeUndefined();
    expect(await documents()).toMatchObject([{ position: 2 }]);
    expect(await consumer.handle(last)).toMatchObject({ kind: "done", result: { inserted: 2, removed: 1 } });
    expect(await documents()).toMatchObject([{ position: 3, revision: 3, chunks: 2, vectors: 2 }]);
  });

  test("keeps the documents of two tenants apart, whatever their events have in common", async () => {
    await consumer.handle(upsertOf({ tenantId: "a", position: 1 }));
    await consumer.handle(upsertOf({ tenantId: "b", position: 2 }));
    await consumer.handle(deletionOf({ tenantId: "b", position: 3 }));
    expect(await documents()).toMatchObject([
      { tenantId: "a", chunks: 1 },
      { tenantId: "b", deleted: true, chunks: 0 },
    ]);
    expect(await retrieve(rig.database.pool, embeddings, { tenantId: "b", query: "back @30", limit: 5 })).toEqual([]);
  });

  test("writes neither document nor receipt when the write fails, and both when it is delivered again", async () => {
    const event = upsertOf();
    await rig.database.pool.query(`ALTER TABLE "RagChunk" ADD CONSTRAINT broken CHECK ("recordId" <> '7')`);
    onTestFinished(async () => void (await rig.database.pool.query(`ALTER TABLE "RagChunk" DROP CONSTRAINT IF EXISTS broken`)));
    await expect(consumer.handle(event)).rejects.toThrow("broken");
    expect([await documents(), await receiptOf(event.eventId)]).toEqual([[], undefined]);
    await rig.database.pool.query(`ALTER TABLE "RagChunk" DROP CONSTRAINT broken`);
    expect(await consumer.handle(event)).toMatchObject({ kind: "done" });
    expect(await documents()).toMatchObject([{ chunks: 1 }]);
  });

  test("snoozes, using no attempt, when somebody holds the record's document longer than the lock time-out", async () => {
    await consumer.handle(upsertOf());
    const pool = impatientPool(rig.database.pool);
    const impatient = createRagConsumer({ pool, embeddings, sizes: SIZES, concurrency: 1 });
    await transaction(rig.database.pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "RagDocument" FOR UPDATE`);
      expect(await impatient.handle(upsertOf({ position: 2 }))).toEqual({ kind: "snooze", untilMs: expect.any(Number) });
    });
  });

  test.each<[string, Partial<DeliveryParts>, string[]]>([
    ["no record", { payload: { collection: "article", text: "secret" } }, ["recordId"]],
    ["a collection that is none", { payload: { ...UPSERT, collection: "Secret list" } }, ["collection"]],
    ["no text", { payload: ARTICLE }, ["text"]],
    ["a member too many", { payload: { ...UPSERT, extra: "secret" } }, ["extra"]],
    ["a language of no server", { payload: { ...UPSERT, language: "secretish" } }, ["language"]],
    ["metadata without bounds", { payload: { ...UPSERT, metadata: { secret: "x".repeat(40_000) } } }, ["metadata"]],
    ["an upsert in a deletion", { type: "rag.index.delete", payload: { ...ARTICLE, text: "secret" } }, ["text"]],
  ])("gives up at once on %s, naming the path and no value, and asks for nothing", async (_name, parts, paths) => {
    const error: unknown = await Promise.resolve(consumer.handle(upsertOf(parts))).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "RECEIVER.PAYLOAD", retry: false, facts: { paths } });
    expect(String(error)).not.toMatch(/secret/i);
    expect(await documents()).toEqual([]);
    expect(asked()).toEqual([]);
  });

  test("gives up at once on another type of its route", async () => {
    await expect(consumer.handle(upsertOf({ type: "rag.index.rebuild" }))).rejects.toMatchObject({
      code: "RECEIVER.PAYLOAD",
      retry: false,
    });
  });
});

describe("rag-index, behind its queue", () => {
  const found = async (query: string): Promise<string[]> => {
    const hits = await retrieve(rig.database.pool, embeddings, { tenantId: rig.tenantId, query, limit: 10 });
    return hits.map(({ recordId, text }) => `${recordId} ${text.match(/@\d+/g)?.at(-1) ?? ""}`);
  };
  const jobOf = async (id: string, at = 0) => (await rig.trace(id)).jobs[at]?.view;
  const publish = (text: string, recordId = "7") => rig.publish("rag.index.upsert", { ...UPSERT, recordId, text });

  test("makes what was published retrievable in the order of its angles, and what was deleted not", async () => {
    const ids = [await publish(textOf("@100", "@45"), "a"), await publish(textOf("@31", "@200"), "b")];
    for (const id of ids) await rig.untilReceipts(id, ["rag-index done"]);
    expect(await found("what stands at @30")).toEqual(["b @31", "a @45", "a @100", "b @200"]);
    expect((await rig.trace(ids[0] ?? "")).effects).toMatchObject([{ table: "RagDocument", key: "article/a", effectEpoch: 0 }]);
    const deletion = await rig.publish("rag.index.delete", { ...ARTICLE, recordId: "b" });
    await rig.untilReceipts(deletion, ["rag-index done"]);
    expect(await found("what stands at @30")).toEqual(["a @45", "a @100"]);
    expect((await rig.trace(deletion)).effects).toMatchObject([{ table: "RagDocument", key: "article/b (deleted)" }]);
  });

  test("asks the endpoint for the chunks that are new alone", async () => {
    await rig.untilReceipts(await publish(textOf("@10", "@20", "@30")), ["rag-index done"]);
    expect(asked()).toHaveLength(3);
    const id = await publish(textOf("@10", "@20", "@40"));
    await rig.untilReceipts(id, ["rag-index done"]);
    expect(asked().slice(3)).toEqual([expect.stringContaining("@40")]);
    expect(await receiptOf(id)).toMatchObject({ result: { applied: true, kept: 2, embedded: 0, inserted: 1, removed: 1 } });
  });

  test("takes a text that travels by reference, and asks for its chunks in batches", async () => {
    const requests = peer.requests.length;
    const id = await publish(textOf(...Array.from({ length: 400 }, (_, n) => `@${n % 360} part ${n}`)));
    await rig.untilReceipts(id, ["rag-index done"]);
    const [document] = await documents();
    expect(document).toMatchObject({ chunks: expect.any(Number), vectors: document?.["chunks"] });
    expect(asked()).toHaveLength(Number(document?.["chunks"]));
    expect(peer.requests.length - requests).toBe(Math.ceil(asked().length / 16));
  });

  test.each([
    ["refuses with 429", { status: 429 }],
    ["fails with 503", { status: 503 }],
    ["drops the connection", "drop"],
    ["answers with something else", { body: "<html></html>" }],
  ] as const)("tries again while the endpoint %s, and has its effect once when that has healed", async (_what, reply) => {
    let bad = 0;
    peer.respond(() => {
      bad += 1;
      if (bad === 3) peer.respond(null);
      return reply;
    });
    const id = await publish(UPSERT.text);
    await rig.untilReceipts(id, ["rag-index done"]);
    await rig.untilIdle();
    expect(await jobOf(id)).toMatchObject({ state: "completed", failures: 3 });
    expect(await documents()).toMatchObject([{ eventId: id, revision: 1, chunks: 1, vectors: 1 }]);
  });

  test("tries again while nobody listens at the endpoint, and has its effect once when somebody does", async () => {
    await network.refuse();
    const id = await publish(UPSERT.text);
    await waitFor(async () => ((await jobOf(id))?.failures ?? 0) > 0, { what: "an attempt to fail" });
    await network.resume();
    await rig.untilReceipts(id, ["rag-index done"]);
    expect(asked()).toEqual([UPSERT.text]);
  });

  test("is dead when its attempts are used up, says why without the key or the text, and runs once when requeued", async () => {
    peer.respond(() => ({ status: 500, body: `{"error":{"message":"${KEY} ${UPSERT.text}"}}` }));
    const id = await publish(UPSERT.text);
    await rig.untilReceipts(id, ["rag-index dead"]);
    expect(await jobOf(id)).toMatchObject({ state: "failed", failures: 8 });
    const told = inspect([await rig.trace(id), await receiptOf(id)], { depth: 9 });
    expect(told).toContain("RAG.EMBEDDINGS_FAILED");
    expect(told).toContain("got 500");
    expect(told).not.toMatch(/sk-very-secret|30 days/);
    peer.respond(null);
    await rig.requeue(id);
    await rig.untilReceipts(id, ["rag-index done"]);
    await rig.untilIdle();
    expect(await jobOf(id, 1)).toMatchObject({ state: "completed", starts: 1, failures: 0 });
    expect(await documents()).toMatchObject([{ eventId: id, revision: 1, chunks: 1 }]);
  });

  test("is dead after one try where the endpoint refuses for good, and runs once when requeued", async () => {
    peer.respond(() => ({ status: 401, body: `{"error":{"code":"invalid_api_key","message":"${KEY}"}}` }));
    const id = await publish(UPSERT.text);
    await rig.untilReceipts(id, ["rag-index dead"]);
    expect(asked()).toHaveLength(1);
    expect((await receiptOf(id))?.["detail"]).toMatch(/RAG\.EMBEDDINGS_REJECTED.*401 \(invalid_api_key\)/);
    peer.respond(null);
    await rig.requeue(id);
    await rig.untilReceipts(id, ["rag-index done"]);
    expect(await documents()).toMatchObject([{ eventId: id, revision: 1 }]);
  });

  test("embeds a document anew by a replay when the model is another one, and asks for nothing when it is not", async () => {
    const id = await publish(UPSERT.text);
    await rig.untilReceipts(id, ["rag-index done"]);
    await rig.requeue(id, { replay: true });
    await rig.untilReceipts(id, ["rag-index done", "rag-index done"]);
    expect(asked()).toHaveLength(1);
    await rig.database.pool.query(`UPDATE "RagChunk" SET "model" = 'the one before'`);
    await rig.requeue(id, { replay: true });
    await rig.untilReceipts(id, ["rag-index done", "rag-index done", "rag-index done"]);
    expect(asked()).toHaveLength(2);
    expect(await receiptOf(id)).toMatchObject({ result: { applied: true, embedded: 1 } });
  });

  test("never writes the key into the log, whatever the endpoint answers", async () => {
    const lines: string[] = [];
    const log = createLogger({ app: "test", level: "trace", destination: { write: (line) => void lines.push(line) } });
    // Of a queue that nobody else serves here.
    const logging = runConsumers({ ...rig, log }, [{ ...consumer, queue: "outbox.search-index" }]);
    onTestFinished(() => logging.close(2000));
    const replies = [{ status: 401, body: KEY }, { status: 503, body: KEY }, "drop", { body: KEY }] as const;
    peer.respond((_request, index) => replies[index % replies.length] ?? "drop");
    for (let n = 0; n < 4; n += 1) {
      const data = upsertOf({ tenantId: rig.tenantId, payload: { ...UPSERT, recordId: `r${n}` } }).envelope;
      await rig.backend.addAll([{ queue: "outbox.search-index", id: `outbox-${data.outboxEventId}`, name: data.type, data }]);
    }
    await waitFor(() => lines.filter((line) => line.includes("RAG.EMBEDDINGS_REJECTED")).length > 0, { what: "a refusal in the log" });
    await waitFor(() => lines.filter((line) => line.includes("HTTP.NETWORK")).length > 0, { what: "a dropped connection in the log" });
    await waitFor(() => lines.filter((line) => line.includes("RAG.EMBEDDINGS_ANSWER")).length > 0, { what: "a bad answer in the log" });
    expect(lines.join("\n")).not.toContain(KEY);
  });
});
