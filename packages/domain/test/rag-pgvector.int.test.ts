import { readFile } from "node:fs/promises";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite/vector";
import type { Queryable } from "@toolctrl/db/sql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chunksOf, indexDocument, retrieve, type Embeddings } from "../src/rag.ts";
import { knownEmbeddings, TENANT } from "./rag-support.ts";

// The run's PostgreSQL has no pgvector. This one is PostgreSQL too, compiled for another machine, with the real extension.
let server: PGlite;
const statements: string[] = [];
const db = {
  async query(sql: string, values?: unknown[]) {
    statements.push(sql);
    const { rows, affectedRows } = await server.query(sql, values);
    return { rows, rowCount: affectedRows ?? rows.length };
  },
} as Queryable;

beforeAll(async () => {
  server = await PGlite.create({ extensions: { vector } });
  for (const name of ["20261202000000_search", "20261202000300_rag"]) {
    await server.exec(await readFile(new URL(`../../db/prisma/migrations/${name}/migration.sql`, import.meta.url), "utf8"));
  }
  // It starts from nothing, compiling itself: seconds where a machine has time, and much more where it has none.
}, 300_000);
afterAll(() => server.close());

async function index(embeddings: Embeddings & { readonly model: string }, recordId: string, text: string): Promise<void> {
  const key = { tenantId: TENANT, collection: "article", recordId, title: "", language: "simple", metadata: {} };
  const chunks = chunksOf(text, { maxCharacters: 200, overlapCharacters: 20 });
  const answers = await embeddings.embed(chunks.map((chunk) => chunk.text));
  const vectors = new Map(chunks.map(({ contentHash }, at) => [contentHash, answers[at] ?? []] as const));
  const event = { eventId: "01970000-0000-7000-8000-000000000001", position: "1", effectEpoch: 0 };
  await indexDocument(db, { ...key, chunks, model: embeddings.model, vectors }, event);
}

/** What is found, and whether pgvector's operator was used. */
async function ask(embeddings: Embeddings): Promise<{ found: string[]; scores: number[]; pgvector: boolean }> {
  statements.length = 0;
  const hits = await retrieve(db, embeddings, { tenantId: TENANT, query: "@0", limit: 50 });
  return {
    found: hits.map(({ recordId }) => recordId),
    scores: hits.map(({ score }) => score),
    pgvector: statements.some((sql) => sql.includes("OPERATOR(")),
  };
}

const fixed = (model: string, numbers: number[]) => ({
  model,
  embed: (texts: readonly string[]) => Promise.resolve(texts.map(() => numbers)),
});

test("where the server has pgvector, its operator ranks as the exact function does, whatever schema it is in, and only while it is there", async () => {
  const embeddings = knownEmbeddings();
  for (let at = 0; at < 12; at += 1) await index(embeddings, `r${String(at).padStart(2, "0")}`, `${at} @${(at * 77) % 180}`);
  // Chunks of other models and lengths, of zeros, and of numbers beyond the operator's arithmetic.
  const edge = fixed("edge", [3e38, 3e38]);
  await index(edge, "huge", "@0 huge");
  await index(fixed("edge", [3e38, 0]), "huge, half turned", "@0 half");
  await index(fixed("edge", [1e-40, -1e-40]), "tiny, turned", "@0 tiny");
  await index(fixed("edge", [0, 0]), "zeros", "@0 zeros");
  await index(fixed("edge", [1, 1, 1]), "long", "@0 long");
  await index(fixed("another", [1, 1]), "another", "@0 another");

  const exact = await ask(embeddings);
  const exactAtEdge = await ask(edge);
  expect([exact.pgvector, exactAtEdge.pgvector]).toEqual([false, false]);
  expect(exact.found.filter((recordId) => /^r\d\d$/.test(recordId))).toHaveLength(12);
  expect(exactAtEdge.found.slice(0, 5)).toEqual(["huge", expect.any(String), "huge, half turned", expect.any(String), "tiny, turned"]);

  await server.exec(`CREATE SCHEMA "Odd schema"; CREATE EXTENSION vector SCHEMA "Odd schema"`);
  const fast = await ask(embeddings);
  expect(fast).toEqual({ found: exact.found, scores: exact.scores.map((score) => expect.closeTo(score, 6)), pgvector: true });
  expect(await ask(edge)).toEqual({ ...exactAtEdge, pgvector: true });

  await server.exec(`DROP EXTENSION vector`);
  expect(await ask(embeddings)).toEqual(exact);
});
