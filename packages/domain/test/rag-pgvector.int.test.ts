import { readFile } from "node:fs/promises";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite/vector";
import type { Queryable } from "@toolctrl/db/sql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
});
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

describe("where the server has pgvector", () => {
  test("its operator ranks as the exact function does, whatever schema it is in, and only while it is there", async () => {
    const embeddings = knownEmbeddings();
    for (let at = 0; at < 40; at += 1) await index(embeddings, `r${String(at).padStart(2, "0")}`, `${at} @${(at * 37) % 180}`);
    const exact = await ask(embeddings);
    expect(exact.pgvector).toBe(false);
    expect(exact.found).toHaveLength(40);
    await server.exec(`CREATE SCHEMA "Odd schema"; CREATE EXTENSION vector SCHEMA "Odd schema"`);
    const fast = await ask(embeddings);
    expect(fast.pgvector).toBe(true);
    expect(fast.found).toEqual(exact.found);
    for (const [at, score] of fast.scores.entries()) expect(score).toBeCloseTo(exact.scores[at] ?? 9, 6);
    await server.exec(`DROP EXTENSION vector`);
    expect(await ask(embeddings)).toEqual(exact);
  });

  test("chunks of other models and lengths, of zeros, and of numbers beyond its arithmetic are ranked as without it", async () => {
    const fixed = (model: string, numbers: number[]) => ({
      model,
      embed: (texts: readonly string[]) => Promise.resolve(texts.map(() => numbers)),
    });
    const asking = fixed("edge", [3e38, 3e38]);
    await index(asking, "huge", "@0 huge");
    await index(fixed("edge", [3e38, 0]), "huge, half turned", "@0 half");
    await index(fixed("edge", [1e-40, -1e-40]), "tiny, turned", "@0 tiny");
    await index(fixed("edge", [0, 0]), "zeros", "@0 zeros");
    await index(fixed("edge", [1, 1, 1]), "long", "@0 long");
    await index(fixed("another", [1, 1]), "another", "@0 another");
    const exact = await ask(asking);
    expect(exact.found.slice(0, 5)).toEqual(["huge", expect.any(String), "huge, half turned", expect.any(String), "tiny, turned"]);
    await server.exec(`CREATE EXTENSION vector SCHEMA "Odd schema"`);
    expect(await ask(asking)).toEqual({ ...exact, pgvector: true });
  });
});
