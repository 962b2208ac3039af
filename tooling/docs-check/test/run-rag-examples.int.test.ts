import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Consumer, Delivery } from "@toolctrl/consumer/define";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { createHttpEmbeddings, type Embeddings, type RagHit } from "@toolctrl/domain/rag";
import { createGuardedHttp, type GuardedHttp } from "@toolctrl/runtime/guarded-http";
import { startEmbeddingsPeer } from "@toolctrl/testkit/embeddings-peer";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { expect, onTestFinished, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { ROOT } from "../src/repository.ts";

const GUIDE = "docs/guides/rag.md";

type CreateRagConsumer = (deps: { pool: Database["pool"]; embeddings: Embeddings; sizes: object; concurrency: number }) => Consumer;
type CreateHelp = (deps: { pool: Database["pool"]; http: GuardedHttp; url: string; apiKey: string }) => {
  passagesFor(tenantId: string, question: string): Promise<RagHit[]>;
};

/** Hands the published events to the consumer, in their order. */
async function consume({ pool }: Database, consumer: Consumer): Promise<void> {
  const { rows } = await pool.query<Pick<Delivery, "eventId" | "type" | "payload"> & { position: string }>(
    `SELECT "id" AS "eventId", "eventType" AS "type", "payload", "position"::text AS "position" FROM "OutboxEvent" e ORDER BY e."position"`,
  );
  for (const { position, ...event } of rows) {
    const envelope = { position } as Delivery["envelope"];
    const delivery = {
      ...event,
      tenantId: "acme",
      effectEpoch: 0,
      envelope,
      failures: 0,
      maxAttempts: 1,
      signal: new AbortController().signal,
    };
    expect(await consumer.handle(delivery)).toMatchObject({ kind: "done" });
  }
}

test("what the guide to retrieval publishes is found by what it retrieves with, and no more once it is deleted", async () => {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  const peer = await startEmbeddingsPeer();
  const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  onTestFinished(async () => {
    vi.unstubAllGlobals();
    await http.close();
    await peer.close();
    await database.close();
  });
  // A model of one idea: how much a text is about money.
  peer.respond(({ text }) => {
    const { input } = JSON.parse(text) as { input: string[] };
    const data = input.map((each, index) => ({ index, embedding: /money|refund/i.test(each) ? [0.1, 1] : [1, 0.1] }));
    return { body: JSON.stringify({ data }) };
  });
  vi.stubGlobal("prisma", database.prisma);
  vi.stubGlobal("tenantId", "acme");
  const { createRagConsumer } = (await import(
    pathToFileURL(join(ROOT, "apps/worker-general/src/consumers/create-rag-consumer.ts")).href
  )) as { createRagConsumer: CreateRagConsumer };
  const embeddings = createHttpEmbeddings({ http, url: peer.url, model: "text-embedding-3-small", batchSize: 64, deadlineMs: 5000 });
  const sizes = { maxCharacters: 60, overlapCharacters: 0 };
  const consumer = createRagConsumer({ pool: database.pool, embeddings, sizes, concurrency: 1 });
  const { createHelp } = (await runExample(exampleOf(GUIDE, "passagesFor"))) as { createHelp: CreateHelp };
  const help = createHelp({ pool: database.pool, http, url: peer.url, apiKey: "sk-1" });

  await runExample(exampleOf(GUIDE, "rag.index.upsert"));
  await consume(database, consumer);
  const hits = await help.passagesFor("acme", "When is my refund there?");
  expect(hits).toMatchObject([
    {
      recordId: "7",
      title: "Returns",
      metadata: { url: "/help/returns" },
      text: "The money is with you a week later.",
      ordinal: 1,
      by: "vector",
    },
    { recordId: "7", ordinal: 0 },
  ]);
  expect(await help.passagesFor("somebody-else", "When is my refund there?")).toEqual([]);

  await runExample(exampleOf(GUIDE, "rag.index.delete"));
  await consume(database, consumer);
  expect(await help.passagesFor("acme", "When is my refund there?")).toEqual([]);
});
