import { createDatabase, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { createTestDatabase, type TestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { searchDocuments, type SearchQuery } from "../src/search.ts";
import { remove, TENANT, upsert } from "./search-support.ts";
import { rejection } from "./support.ts";

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await createDatabase({ url: testDatabase.url, poolMax: 5, app: "search-test", wakeup: false });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

beforeEach(() => database.pool.query(`TRUNCATE "SearchDocument"`));

function search(query: string, options: Partial<SearchQuery> = {}) {
  return searchDocuments(database.pool, { tenantId: TENANT, query, ...options });
}

async function found(query: string, options: Partial<SearchQuery> = {}): Promise<string[]> {
  return (await search(query, options)).hits.map(({ recordId }) => recordId);
}

describe("the order of hits", () => {
  test("has every title that answers before all bodies, however often these say the word", async () => {
    await upsert(database, { recordId: "body", title: "Other", body: "invoice ".repeat(300) });
    await upsert(database, { recordId: "long-title", title: `An invoice ${"and more ".repeat(40)}`, body: "nothing ".repeat(2000) });
    await upsert(database, { recordId: "title", title: "Invoice" });
    const { hits } = await search("invoice");
    expect(hits.map(({ recordId }) => recordId)).toEqual(["title", "long-title", "body"]);
    expect(hits.map(({ rank }) => rank >= 1)).toEqual([true, true, false]);
  });

  test("has words that stand together before the same words far apart", async () => {
    await upsert(database, { recordId: "apart", body: `red ${"filler ".repeat(50)} bicycle` });
    await upsert(database, { recordId: "together", body: `${"filler ".repeat(50)} red bicycle` });
    expect(await found("red bicycle")).toEqual(["together", "apart"]);
  });

  test("is the same each time where hits rank alike, so that pages neither repeat nor lose one", async () => {
    const keys = Array.from({ length: 25 }, (_, index) => ({ collection: index % 2 === 0 ? "a" : "b", recordId: String(index) }));
    // Written in an order of their own, and moved about in the table.
    for (const key of keys.toReversed()) await upsert(database, { ...key, body: "same words" });
    await database.pool.query(`UPDATE "SearchDocument" SET "attributes" = '{"a":1}' WHERE "recordId" ~ '[05]$'`);
    const pages: string[] = [];
    for (let offset = 0, more = true; more; offset += 4) {
      const page = await search("words", { limit: 4, offset });
      pages.push(...page.hits.map(({ collection, recordId }) => `${collection}/${recordId}`));
      more = page.more;
    }
    expect(pages).toEqual(keys.map(({ collection, recordId }) => `${collection}/${recordId}`).sort());
  });

  test("says whether there is more behind a page, also when the page is exactly full", async () => {
    for (const recordId of ["1", "2", "3"]) await upsert(database, { recordId, body: "word" });
    expect(await search("word", { limit: 2 })).toMatchObject({ more: true, hits: [{}, {}] });
    expect(await search("word", { limit: 3 })).toMatchObject({ more: false, hits: [{}, {}, {}] });
    expect(await search("word", { limit: 2, offset: 2 })).toMatchObject({ more: false, hits: [{ recordId: "3" }] });
    expect(await search("word", { offset: 3 })).toEqual({ more: false, hits: [] });
  });
});

describe("what is found", () => {
  test("is never another tenant's, whatever the query asks for", async () => {
    await upsert(database, { tenantId: TENANT, recordId: "mine", title: "Report", body: "quarter" });
    await upsert(database, { tenantId: "other", recordId: "theirs", title: "Report", body: "quarter" });
    await upsert(database, { tenantId: "other", recordId: "mine", title: "Report", body: "secret" });
    for (const query of ["report", "quarter", "-nothing", "report or quarter"]) expect(await found(query), query).toEqual(["mine"]);
    expect(await found("secret")).toEqual([]);
    expect(await found("report", { tenantId: "other" })).toEqual(["mine", "theirs"]);
    expect(await found("report", { tenantId: "nobody" })).toEqual([]);
    expect(await found("report", { tenantId: "acm_" })).toEqual([]);
  });

  test("is what people mean: all words, quoted ones together, either one, without one; and any text is a query", async () => {
    await upsert(database, { recordId: "1", body: "the quick brown fox" });
    await upsert(database, { recordId: "2", body: "the brown and quick bear" });
    expect(await found("quick brown")).toEqual(["1", "2"]);
    expect(await found('"quick brown"')).toEqual(["1"]);
    expect((await found("fox or bear")).sort()).toEqual(["1", "2"]);
    expect(await found("quick -fox")).toEqual(["2"]);
    for (const text of ["", "   ", "the", '"', "& | ! ( :* '", "fox & (", "\\", "'; DROP TABLE x; --"]) {
      expect((await search(text)).more, text).toBe(false);
    }
  });

  test("is asked of each document in its own language, unless one is named", async () => {
    await upsert(database, { recordId: "en", language: "english", body: "running houses" });
    await upsert(database, { recordId: "de", language: "german", body: "laufende Häuser" });
    await upsert(database, { recordId: "simple", language: "simple", body: "running houses" });
    expect(await found("house run")).toEqual(["en"]);
    expect(await found("Haus")).toEqual(["de"]);
    expect(await found("running houses")).toEqual(["en", "simple"]);
    expect(await found("running houses", { language: "english" })).toEqual(["en"]);
    expect(await found("running houses", { language: "german" })).toEqual([]);
    expect(await found("running houses", { language: "klingon" })).toEqual([]);
  });

  test("is narrowed to collections", async () => {
    for (const collection of ["lead", "order", "row"]) await upsert(database, { collection, recordId: collection, body: "word" });
    expect(await found("word", { collections: ["lead", "row"] })).toEqual(["lead", "row"]);
    expect(await found("word", { collections: ["none"] })).toEqual([]);
  });

  test("is no deleted document, and of a changed one only what it says now", async () => {
    await upsert(database, { recordId: "1", title: "Draft", position: 1 });
    await upsert(database, { recordId: "1", title: "Final", position: 2 });
    await upsert(database, { recordId: "2", title: "Draft final", position: 3 });
    await remove(database, { recordId: "2", position: 4 });
    // What is left of the deleted one is in no language; so is this, which lets the search ask there too.
    await upsert(database, { recordId: "3", title: "Other", language: "simple", position: 5 });
    expect(await found("draft")).toEqual([]);
    expect(await found("final")).toEqual(["1"]);
    expect(await found("-zzz")).toEqual(["1", "3"]);
  });

  test("comes with its title as it is and its attributes", async () => {
    await upsert(database, { title: "A <b> & co", body: "word", attributes: { stage: "open", value: 7 } });
    expect((await search("word")).hits).toEqual([
      {
        collection: "lead",
        recordId: "1",
        title: "A <b> & co",
        snippet: "<mark>word</mark>",
        attributes: { stage: "open", value: 7 },
        rank: expect.any(Number),
      },
    ]);
  });
});

describe("a snippet", () => {
  const snippet = async (query: string): Promise<string | undefined> => (await search(query)).hits[0]?.snippet;

  test("is HTML in which only hits are marked up: what the text holds stays text", async () => {
    const text = `word <img src=x onerror="alert(1)"> & 'it' 1 < 2 > 0 &amp; </mark> <mark> "a" \u0002b\u0003 <script>x()</script> word`;
    await upsert(database, { body: text });
    const html = (await snippet("word")) ?? "";
    expect(html.replaceAll(/<\/?mark>/g, "")).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/);
    // Each mark is opened, holds a hit, and is closed.
    expect([...html.matchAll(/<mark>(.*?)<\/mark>/g)].map(([, hit]) => hit)).toEqual(["word", "word"]);
    expect(html.split(/<\/?mark>/)).toHaveLength(5);
    for (const shown of ["&amp; &#39;it&#39; 1 &lt; 2 &gt; 0 &amp;amp;", "&quot;a&quot; b"]) expect(html).toContain(shown);
  });

  test("shows the surroundings of what was found, in the middle of a long body", async () => {
    await upsert(database, { body: `${"before ".repeat(500)} needle ${"after ".repeat(500)}` });
    const html = (await snippet("needle")) ?? "";
    expect(html).toContain("<mark>needle</mark>");
    expect(html.length).toBeLessThan(500);
  });

  test("is the beginning of the body where only the title was found, and empty where there is none", async () => {
    await upsert(database, { recordId: "1", title: "Needle", body: `First words. ${"more ".repeat(500)}` });
    expect(await snippet("needle")).toMatch(/^First words\. more/);
    await upsert(database, { recordId: "1", title: "Needle", position: 2 });
    expect(await snippet("needle")).toBe("");
  });
});

test.each<[keyof SearchQuery, Partial<SearchQuery>]>([
  ["limit", { limit: 0 }],
  ["limit", { limit: 101 }],
  ["limit", { limit: 1.5 }],
  ["offset", { offset: -1 }],
  ["offset", { offset: 10_001 }],
  ["query", { query: "x".repeat(1001) }],
  ["query", { query: "a\u0000b" }],
  ["tenantId", { tenantId: "" }],
  ["collections", { collections: [] }],
])("a search is refused before any SQL, with its path: %s in %j", async (path, changes) => {
  const db: Queryable = { query: () => Promise.reject(new Error("expected no SQL")) };
  const error = await rejection(searchDocuments(db, { tenantId: TENANT, query: "x", ...changes }));
  expect(error).toMatchObject({ code: "SEARCH.ARGUMENT", facts: { paths: [path] } });
});

test("a search reads by index, and of other tenants nothing, however many of their documents have the words", async () => {
  await database.pool.query(
    `INSERT INTO "SearchDocument" ("tenantId", "collection", "recordId", "title", "body", "language", "eventId", "appliedPosition")
     SELECT CASE WHEN n % 100 = 0 THEN $1 ELSE 'big' END, 'lead', n::text, 'title', 'common words of all', 'english', gen_random_uuid(), n
     FROM generate_series(1, 5000) n`,
    [TENANT],
  );
  await database.pool.query(`VACUUM ANALYZE "SearchDocument"`);
  const plans: string[] = [];
  const explain = async (text: string, values?: unknown[]): Promise<unknown> => {
    const { rows } = await database.pool.query<Record<string, string>>(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${text}`, values);
    plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
    return database.pool.query(text, values);
  };
  const explaining: Queryable = { query: explain as Queryable["query"] };
  expect((await searchDocuments(explaining, { tenantId: TENANT, query: "common words" })).hits).toHaveLength(20);
  const [plan = ""] = plans;
  expect(plan).toMatch(/Bitmap Index Scan on "SearchDocument_words_idx"/);
  expect(plan).not.toMatch(/Seq Scan on "SearchDocument"/);
  // 50 are the tenant's.
  expect(plan).toMatch(/Bitmap Index Scan on "SearchDocument_words_idx" \(actual rows=50(?:\.00)? loops=1\)/);
});
