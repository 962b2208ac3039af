import { transaction } from "@toolctrl/db/client";
import { errorCodeOf } from "@toolctrl/foundation/errors";
import { vectorOf } from "@toolctrl/testkit/embeddings-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { createNoEmbeddings } from "../src/rag.ts";
import {
  asHeld,
  chunkRows,
  documentOf,
  knownEmbeddings,
  paragraph,
  remove,
  TENANT,
  upsert,
  useDatabase,
  type Change,
} from "./rag-support.ts";
import { rejection, rowsOf, WAITING } from "./support.ts";

const databaseOf = useDatabase();
const text = (...names: string[]): string => names.map(paragraph).join("");
const NONE = { applied: true, kept: 0, embedded: 0, inserted: 0, removed: 0 };

describe("a document's chunks", () => {
  test("are written with their vectors, and are those of the text", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    const report = await upsert(database, embeddings, { text: text("@100", "@200"), position: 1, title: "T", metadata: { a: "b" } });
    expect(report).toEqual({ ...NONE, inserted: 2 });
    expect(await documentOf(database)).toMatchObject({ title: "T", metadata: { a: "b" }, position: "1", revision: 1, deleted: false });
    const rows = await chunkRows(database);
    expect(rows.map(({ embedding, ...row }) => [row.ordinal, row.model, asHeld(embedding)])).toEqual(
      rows.map((row, ordinal) => [ordinal, "known", asHeld(vectorOf(row.text))]),
    );
    expect(embeddings.asked).toEqual(rows.map((row) => row.text));
  });

  test("that say the same as before keep their rows and their vectors, and nobody is asked for them again", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("aaaa", "bbbb", "cccc", "dddd"), position: 1 });
    const before = await chunkRows(database);
    embeddings.asked.length = 0;
    const report = await upsert(database, embeddings, { text: text("aaaa", "bbbb", "CCCC", "dddd"), position: 2 });
    const after = await chunkRows(database);
    // The chunk after the changed one repeats the end of it.
    expect(report).toEqual({ ...NONE, kept: 2, inserted: 2, removed: 2 });
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(embeddings.asked).toEqual(after.slice(2).map((row) => row.text));
  });

  test("move with their rows and vectors to new places, also where they change places with each other", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100", "@200", "@300"), position: 1 });
    const right = await chunkRows(database);
    for (const [position, order] of [
      [2, 0, 1],
      [1, 2, 0],
      [2, 1, 0],
    ].entries()) {
      await database.pool.query(
        `UPDATE "RagChunk" c SET "ordinal" = p."ordinal" FROM unnest($1::uuid[], $2::int[]) AS p("id", "ordinal") WHERE c."id" = p."id"`,
        [right.map(({ id }) => id), order],
      );
      const report = await upsert(database, embeddings, { text: text("@100", "@200", "@300"), position: position + 2 });
      expect(report).toEqual({ ...NONE, kept: 3 });
      expect((await chunkRows(database)).map(({ version: _version, ...row }) => row)).toEqual(
        right.map(({ version: _version, ...row }) => row),
      );
    }
    expect(embeddings.asked).toHaveLength(3);
  });

  test("that say the same several times are as many as the text has", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    const same = "x".repeat(180);
    const counts: Array<[number, number]> = [];
    for (const [position, repeats] of [3, 6, 2].entries()) {
      await upsert(database, embeddings, { text: same.repeat(repeats), position: position + 1 });
      counts.push([(await chunkRows(database)).length, embeddings.asked.length]);
    }
    const [first, second, third] = counts;
    expect(first?.[0]).toBe(3);
    expect(second?.[0]).toBeGreaterThan(5);
    expect(third?.[0]).toBe(2);
    // The same text is asked for once, however often it stands there.
    expect(new Set(embeddings.asked).size).toBeLessThan(6);
  });

  test("get new vectors, in their rows, when the model is another one, and keep them when there is none", async () => {
    const [database, one, other] = [databaseOf(), knownEmbeddings("one"), knownEmbeddings("other")];
    await upsert(database, one, { text: text("@100", "@200"), position: 1 });
    const before = await chunkRows(database);
    expect(await upsert(database, other, { text: text("@100", "@200"), position: 2 })).toEqual({ ...NONE, embedded: 2 });
    expect(other.asked).toEqual(one.asked);
    const after = await chunkRows(database);
    expect(after.map(({ id, model }) => [id, model])).toEqual(before.map(({ id }) => [id, "other"]));
    expect(await upsert(database, createNoEmbeddings(), { text: text("@100", "@300"), position: 3 })).toMatchObject({
      kept: 1,
      inserted: 1,
    });
    expect((await chunkRows(database)).map(({ model }) => model)).toEqual(["other", null]);
    expect(await upsert(database, other, { text: text("@100", "@300"), position: 4 })).toEqual({ ...NONE, kept: 1, embedded: 1 });
    expect((await chunkRows(database)).map(({ model }) => model)).toEqual(["other", "other"]);
  });

  test("are found by the words of the language that the document has now", async () => {
    const [database, none] = [databaseOf(), createNoEmbeddings()];
    await upsert(database, none, { text: "running shoes", position: 1, language: "simple" });
    const [before] = await chunkRows(database);
    await upsert(database, none, { text: "running shoes", position: 2, language: "english" });
    const [after] = await chunkRows(database);
    expect([before?.words, after?.words]).toEqual(["'running':1 'shoes':2", "'run':1 'shoe':2"]);
    expect(after?.id).toBe(before?.id);
  });

  test("are none for an empty text, whose document is there all the same", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100"), position: 1 });
    expect(await upsert(database, embeddings, { text: " \n ", position: 2, title: "T" })).toEqual({ ...NONE, removed: 1 });
    expect(await documentOf(database)).toMatchObject({ title: "T", chunks: "", deleted: false });
  });

  test("of the longest text are written in one transaction, in bounded statements", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    const report = await upsert(database, embeddings, { text: "word ".repeat(20_000), position: 1 });
    expect(report.inserted).toBeGreaterThan(500);
    const [row] = await rowsOf(database, `SELECT count(*)::int AS "n", count(DISTINCT xmin::text)::int AS "transactions" FROM "RagChunk"`);
    expect(row).toEqual({ n: report.inserted, transactions: 1 });
  });

  test("cannot be another tenant's than their document's", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100"), position: 1 });
    const moved = rejection(database.pool.query(`UPDATE "RagChunk" SET "tenantId" = 'tenant-b'`));
    expect(await moved).toMatchObject({ code: "23503" });
  });
});

/** All orders of some things. */
function ordersOf<T>(things: readonly T[]): T[][] {
  if (things.length < 2) return [[...things]];
  return things.flatMap((thing, index) =>
    ordersOf([...things.slice(0, index), ...things.slice(index + 1)]).map((rest) => [thing, ...rest]),
  );
}

describe("events of a record in any order", () => {
  const events: ReadonlyArray<{ readonly position: number; readonly name: string | null }> = [
    { position: 9, name: "@100" },
    { position: 10, name: null },
    { position: 11, name: "@200" },
    { position: 100, name: "@300" },
  ];

  test("leave what the youngest says, whether that is a text or a deletion", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    let record = 0;
    const play = async (order: typeof events): Promise<Record<string, unknown> | undefined> => {
      record += 1;
      for (const { position, name } of order) {
        const change = { position, recordId: String(record) };
        await (name === null ? remove(database, change) : upsert(database, embeddings, { ...change, text: text(name), title: name }));
      }
      return documentOf(database, String(record));
    };
    for (const order of ordersOf(events)) {
      expect(await play(order), order.map(({ position }) => position).join()).toMatchObject({
        title: "@300",
        position: "100",
        deleted: false,
      });
    }
    for (const order of ordersOf(events.slice(0, 2))) {
      expect(await play(order)).toMatchObject({ title: "", metadata: {}, position: "10", deleted: true, chunks: "" });
    }
  });

  test("leave what the youngest says when they come at the same time", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    for (let round = 0; round < 15; round += 1) {
      const recordId = `r${round}`;
      const apply = async ({ position, name }: (typeof events)[number]): Promise<void> => {
        try {
          if (name === null) await remove(database, { position, recordId });
          else await upsert(database, embeddings, { position, recordId, text: text(name), title: name });
        } catch (error) {
          if (errorCodeOf(error) !== "RAG.CHANGED") throw error;
          // The consumer tries again too.
          await apply({ position, name });
        }
      };
      await Promise.all(events.map(apply));
      expect(await documentOf(database, recordId)).toMatchObject({ title: "@300", position: "100", deleted: false });
      expect((await chunkRows(database, recordId)).map((row) => row.text)).toEqual([text("@300")]);
    }
  });

  test("that come twice change nothing the second time, and a deliberate repeat of the youngest is applied again", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    const change: Change = { text: text("@100"), position: 7, eventId: "01970000-0000-7000-8000-000000000001" };
    const applied: boolean[] = [];
    for (const effectEpoch of [0, 0, 1, 1, 0]) applied.push((await upsert(database, embeddings, { ...change, effectEpoch })).applied);
    expect(applied).toEqual([true, false, true, false, false]);
    expect(await documentOf(database)).toMatchObject({ revision: 2, effectEpoch: 1 });
    expect(embeddings.asked).toHaveLength(1);
  });

  test("of which an older one is late ask for no embeddings", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100"), position: 2 });
    await upsert(database, embeddings, { text: text("@200"), position: 1 });
    expect(embeddings.asked).toEqual([text("@100")]);
  });
});

describe("an event that is overtaken between its embeddings and its transaction", () => {
  test("by a younger one changes nothing", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    const report = await upsert(database, embeddings, { text: text("@100"), position: 1, title: "old" }, async () => {
      await upsert(database, embeddings, { text: text("@200"), position: 2, title: "young" });
    });
    expect(report).toEqual({ ...NONE, applied: false });
    expect(await documentOf(database)).toMatchObject({ title: "young", chunks: "@200" });
    expect((await chunkRows(database)).map((row) => row.text)).toEqual([text("@200")]);
  });

  test("by a deletion leaves nothing to be found", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100"), position: 1 }, async () => void (await remove(database, { position: 2 })));
    expect(await documentOf(database)).toMatchObject({ deleted: true, chunks: "" });
  });

  test("by one that took away a chunk it meant to keep says so and rolls back, and is right when tried again", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100", "@200"), position: 1 });
    const last: Change = { text: text("@100", "@300"), position: 3, title: "last" };
    const overtaken = upsert(database, embeddings, last, async () => {
      await upsert(database, embeddings, { text: text("@400"), position: 2, title: "between" });
    });
    expect(await rejection(overtaken)).toMatchObject({ code: "RAG.CHANGED", retry: true });
    expect(await documentOf(database)).toMatchObject({ title: "between", position: "2", revision: 2 });
    expect(await upsert(database, embeddings, last)).toEqual({ ...NONE, inserted: 2, removed: 1 });
    expect((await chunkRows(database)).map(({ embedding }) => asHeld(embedding))).toEqual(
      ["@100", "@300"].map((name) => asHeld(vectorOf(name))),
    );
  });

  test("waits for the other's commit, and judges by what that has written", async () => {
    const [database, embeddings] = [databaseOf(), knownEmbeddings()];
    await upsert(database, embeddings, { text: text("@100"), position: 1 });
    let late: Promise<{ applied: boolean }> | undefined;
    await transaction(database.pool, async (tx) => {
      await tx.query(`UPDATE "RagDocument" SET "appliedPosition" = 5 WHERE "tenantId" = $1`, [TENANT]);
      late = upsert(database, embeddings, { text: text("@200"), position: 4 });
      await waitFor(async () => (await database.pool.query(WAITING)).rowCount === 1, { what: "the late one to wait" });
    });
    expect(await late).toMatchObject({ applied: false });
  });
});
