import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNoEmbeddings, retrieve, type Embeddings } from "../src/rag.ts";
import { knownEmbeddings, paragraph, remove, TENANT, upsert, useDatabase, type Change } from "./rag-support.ts";
import { rejection, rowsOf } from "./support.ts";

const databaseOf = useDatabase();
const none = createNoEmbeddings();

/** Indexes documents of one chunk each, their texts by their record ids. */
async function index(embeddings: Embeddings, texts: Record<string, string>, change: Partial<Change> = {}): Promise<void> {
  for (const [recordId, text] of Object.entries(texts)) await upsert(databaseOf(), embeddings, { recordId, text, position: 1, ...change });
}

/** What answers a question, in order: the record ids. */
async function ask(embeddings: Embeddings, query: string, options: { limit?: number; tenantId?: string; collections?: string[] } = {}) {
  return (await retrieve(databaseOf().pool, embeddings, { tenantId: TENANT, limit: 10, query, ...options })).map(
    ({ recordId }) => recordId,
  );
}

/** The definition, in the arithmetic of this language. */
function cosineOf(a: readonly number[], b: readonly number[]): number | null {
  const dot = (x: readonly number[], y: readonly number[]): number => x.reduce((sum, each, n) => sum + each * (y[n] ?? 0), 0);
  const length = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b));
  return a.length !== b.length || length === 0 ? null : dot(a, b) / length;
}

describe("the cosine in SQL", () => {
  const real = fc.float({ noNaN: true, noDefaultInfinity: true });
  const near = (cosine: number | null): unknown => (cosine === null ? null : expect.closeTo(cosine, 12));
  const cosineInSql = async (a: readonly number[], b: readonly number[]): Promise<unknown> => {
    const [row] = await rowsOf(databaseOf(), `SELECT "cosineSimilarity"($1::real[], $2::real[]) AS "cosine"`, [a, b]);
    return row?.["cosine"];
  };

  test("is the one of the definition for any two vectors", async () => {
    const pairs = fc
      .integer({ min: 1, max: 50 })
      .chain((n) => fc.tuple(...[0, 1].map(() => fc.array(real, { minLength: n, maxLength: n }))));
    await fc.assert(
      fc.asyncProperty(pairs, async ([a = [], b = []]) => {
        expect(await cosineInSql(a, b)).toEqual(near(cosineOf(a, b)));
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["equal", [3, 4], [3, 4], 1],
    ["of one direction", [1, 2], [10, 20], 1],
    ["at a right angle", [1, 0], [0, 5], 0],
    ["opposite", [1, 2], [-2, -4], -1],
    ["of which one is zero", [0, 0], [1, 1], null],
    ["of two lengths", [1, 0], [1, 0, 0], null],
    ["of nothing", [], [], null],
    ["of the largest numbers", [3e38, 3e38], [3e38, 0], Math.SQRT1_2],
    ["of the smallest numbers", [1e-45, 0], [1e-45, 1e-45], Math.SQRT1_2],
  ])("of vectors that are %s", async (_what, a, b, cosine) => {
    expect(await cosineInSql(a, b)).toEqual(near(cosine));
  });
});

describe("chunks with vectors", () => {
  test("come in the order of their angles to the question, with the cosine as their score", async () => {
    const embeddings = knownEmbeddings();
    await index(embeddings, { far: "far @100", near: "near @31", opposite: "opposite @210", nearest: "nearest @28", beside: "beside @75" });
    const hits = await retrieve(databaseOf().pool, embeddings, { tenantId: TENANT, query: "question @30", limit: 10 });
    expect(hits.map(({ recordId, by }) => [recordId, by])).toEqual(
      ["near", "nearest", "beside", "far", "opposite"].map((id) => [id, "vector"]),
    );
    for (const [at, degrees] of [1, 2, 45, 70, 180].entries()) expect(hits[at]?.score).toBeCloseTo(Math.cos((degrees * Math.PI) / 180), 6);
    expect(await ask(embeddings, "question @30", { limit: 2 })).toEqual(["near", "nearest"]);
  });

  test("come with what their document is called and what it carries, each at its place", async () => {
    const embeddings = knownEmbeddings();
    await upsert(databaseOf(), embeddings, {
      text: ["@100", "@200"].map(paragraph).join(""),
      position: 1,
      title: "T",
      metadata: { url: "/t" },
    });
    const [hit] = await retrieve(databaseOf().pool, embeddings, { tenantId: TENANT, query: "@201", limit: 1 });
    expect(hit).toEqual({
      collection: "article",
      recordId: "1",
      title: "T",
      metadata: { url: "/t" },
      ordinal: 1,
      text: expect.stringContaining(paragraph("@200").trimEnd()),
      by: "vector",
      score: expect.closeTo(Math.cos(Math.PI / 180), 6),
    });
  });

  test("at the same angle come in the order of collection, record and place", async () => {
    const embeddings = knownEmbeddings();
    await index(embeddings, { b: "@10 b @10", a: "@10 a @10" });
    await index(embeddings, { a: "@10 a @10" }, { collection: "a-first", recordId: "z" });
    expect(await ask(embeddings, "@10")).toEqual(["z", "a", "b"]);
  });

  test("are found as they are now: changed, deleted and brought back", async () => {
    const embeddings = knownEmbeddings();
    await index(embeddings, { one: "one @10", two: "two @20" });
    await upsert(databaseOf(), embeddings, { recordId: "one", text: "one @90", position: 2 });
    expect(await ask(embeddings, "@10")).toEqual(["two", "one"]);
    await remove(databaseOf(), { recordId: "two", position: 2 });
    expect(await ask(embeddings, "@10")).toEqual(["one"]);
    await upsert(databaseOf(), embeddings, { recordId: "two", text: "two @11", position: 3 });
    expect(await ask(embeddings, "@10")).toEqual(["two", "one"]);
  });
});

describe("a question finds nothing but", () => {
  const everywhere = [
    { tenantId: TENANT, collection: "article", recordId: "mine" },
    { tenantId: TENANT, collection: "note", recordId: "note" },
    { tenantId: "tenant-b", collection: "article", recordId: "theirs" },
    { tenantId: "tenant-b", collection: "article", recordId: "mine" },
  ];

  test.each([
    ["by vectors", knownEmbeddings()],
    ["by words", none],
  ])("the tenant's own, and of the collections that it names: %s", async (_how, embeddings) => {
    for (const where of everywhere)
      await upsert(databaseOf(), embeddings, { ...where, text: `word of ${where.tenantId} @10`, position: 1 });
    expect(await ask(embeddings, "word @10")).toEqual(["mine", "note"]);
    expect(await ask(embeddings, "word @10", { tenantId: "tenant-b" })).toEqual(["mine", "theirs"]);
    expect(await ask(embeddings, "word @10", { tenantId: "tenant-c" })).toEqual([]);
    expect(await ask(embeddings, "word @10", { collections: ["note"] })).toEqual(["note"]);
    expect(await ask(embeddings, "word @10", { collections: ["note", "article"] })).toEqual(["mine", "note"]);
    expect(await ask(embeddings, "word @10", { collections: [] })).toEqual([]);
    const texts = await retrieve(databaseOf().pool, embeddings, { tenantId: TENANT, query: "word @10", limit: 10 });
    expect(texts.every(({ text }) => text.includes(`of ${TENANT} `))).toBe(true);
  });
});

describe("chunks without vectors", () => {
  test("are found by any word of the question, those with more of them first", async () => {
    await index(none, { two: "reset a password", one: "change the password", other: "delete an account" }, { language: "english" });
    const hits = await retrieve(databaseOf().pool, none, { tenantId: TENANT, query: "How do I reset my passwords?", limit: 10 });
    expect(hits.map(({ recordId, by }) => [recordId, by])).toEqual([
      ["two", "words"],
      ["one", "words"],
    ]);
    expect(hits[0]?.score).toBeGreaterThan(hits[1]?.score ?? 1);
  });

  test("are asked in the language of their document", async () => {
    await index(none, { english: "running houses" }, { language: "english" });
    await index(none, { german: "laufende Häuser" }, { language: "german" });
    await index(none, { simple: "running houses" });
    expect(await ask(none, "house")).toEqual(["english"]);
    expect(await ask(none, "Haus")).toEqual(["german"]);
    expect(await ask(none, "running")).toEqual(["english", "simple"]);
  });

  test("are not found by what means something to the index: its marks are words like others", async () => {
    await index(none, { quoted: "it's a | b & c:* 'quoted' \\ path", url: "see example.org/a?b&c and example.org/it's for more" });
    for (const query of ["'", "\\", "a | ! &", "it's", "b & c:*", "''", "(", "<->", "example.org/a?b&c", "example.org/it's", "\\'", "%"]) {
      await expect(ask(none, query), query).resolves.toBeInstanceOf(Array);
    }
    expect(await ask(none, "!quoted")).toEqual(["quoted"]);
    expect(await ask(none, "example.org/a?b&c")).toEqual(["url"]);
    expect((await ask(none, "example.org/it's"))[0]).toBe("url");
    expect(await ask(none, " ")).toEqual([]);
  });

  test("take turns with those that have one, so that neither waits behind the other", async () => {
    const embeddings = knownEmbeddings();
    await index(embeddings, { v1: "word @10", v2: "word @20", v3: "word @30" });
    await index(none, { w1: "word word", w2: "word and another" });
    expect(await ask(embeddings, "word @10")).toEqual(["v1", "w1", "v2", "w2", "v3"]);
    expect(await ask(embeddings, "word @10", { limit: 2 })).toEqual(["v1", "w1"]);
  });
});

describe("vectors that cannot be compared with the question's", () => {
  test("of another model, of another length or of zeros count as none", async () => {
    const embeddings = knownEmbeddings();
    await index(embeddings, { right: "word @90" });
    await index(knownEmbeddings("another"), { model: "word @10" });
    const fixed = (vector: number[]): Embeddings => ({ model: "known", embed: (texts) => Promise.resolve(texts.map(() => vector)) });
    await index(fixed([1, 0]), { short: "word two" });
    await index(fixed([0, 0, 0, 0]), { zero: "word three" });
    const hits = await retrieve(databaseOf().pool, embeddings, { tenantId: TENANT, query: "word @10", limit: 10 });
    expect(hits[0]).toMatchObject({ recordId: "right", by: "vector" });
    expect(hits.slice(1).map(({ recordId, by }) => [recordId, by])).toEqual(["model", "short", "zero"].map((id) => [id, "words"]));
  });

  test("are compared by words where the question's own is of zeros, or where none is made", async () => {
    const embeddings = knownEmbeddings();
    await index(embeddings, { one: "word @10", two: "other @20" });
    const zeros: Embeddings = { model: "known", embed: () => Promise.resolve([[0, 0, 0, 0]]) };
    for (const port of [zeros, none]) {
      const hits = await retrieve(databaseOf().pool, port, { tenantId: TENANT, query: "word", limit: 10 });
      expect(hits.map(({ recordId, by }) => [recordId, by])).toEqual([["one", "words"]]);
    }
  });
});

describe("a question", () => {
  test.each([
    ["tenantId", { tenantId: "" }],
    ["query", { query: "" }],
    ["query", { query: "x".repeat(10_001) }],
    ["query", { query: "a\u0000b" }],
    ["limit", { limit: 0 }],
    ["limit", { limit: 101 }],
    ["collections", { collections: Array(101).fill("a") }],
    ["unknown", { unknown: 1 }],
  ])("whose %s does not fit is refused before anything is asked", async (path, change) => {
    const embeddings = knownEmbeddings();
    const error = await rejection(retrieve(databaseOf().pool, embeddings, { tenantId: TENANT, query: "a", limit: 1, ...change }));
    expect(error).toMatchObject({ code: "RAG.ARGUMENT", retry: false, facts: { path } });
    expect(embeddings.asked).toEqual([]);
  });

  test("is not answered when the embeddings fail: words alone would hide that", async () => {
    await index(none, { one: "word" });
    const failing: Embeddings = { model: "known", embed: () => Promise.reject(new Error("away")) };
    expect((await rejection(ask(failing, "word"))).message).toBe("away");
  });
});
