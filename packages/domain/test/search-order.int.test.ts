import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { documentOf, remove, TENANT, upsert } from "./search-support.ts";
import { openDatabase, rejection, rowsOf } from "./support.ts";

const KINDS = ["upsert", "delete"] as const;
type Step = { readonly position: number; readonly kind: (typeof KINDS)[number] };

/** Every history of three events of a record: what each of them did. */
const HISTORIES: Step[][] = KINDS.flatMap((first) =>
  KINDS.flatMap((second) => KINDS.map((third) => [first, second, third].map((kind, index) => ({ position: index + 1, kind })))),
);

/** Every order in which three things can come. */
const ORDERS = [0, 1, 2].flatMap((first) => [0, 1, 2].filter((n) => n !== first).map((second) => [first, second, 3 - first - second]));

const named = (steps: readonly Step[]): string => steps.map(({ kind, position }) => `${kind}@${position}`).join(" ");

describe("events of a record, in whatever order they come", () => {
  test("leave what the youngest says: every history of three, in every order, each event also delivered once more", async () => {
    const database = await openDatabase(8);
    const records = HISTORIES.flatMap((history) =>
      ORDERS.flatMap((order) => {
        const steps = order.flatMap((index) => history[index] ?? []);
        const recordId = `${named(history)}: ${named(steps)}`;
        return [
          { recordId, steps, history },
          { recordId: `${recordId}, again`, steps: [...steps, ...steps], history },
        ];
      }),
    );
    expect(new Set(records.map(({ recordId }) => recordId)).size).toBe(8 * 6 * 2);
    const left = await Promise.all(
      records.map(async ({ recordId, steps }) => {
        for (const { kind, position } of steps) {
          const parts = { recordId, position, title: `title ${position}` };
          await (kind === "upsert" ? upsert(database, parts) : remove(database, parts));
        }
        return [recordId, await documentOf(database, recordId)];
      }),
    );
    const expected = records.map(({ recordId, history }) => {
      const deleted = history[2]?.kind === "delete";
      return [recordId, { title: deleted ? "" : "title 3", body: "", attributes: {}, position: "3", deleted }];
    });
    expect(left).toEqual(expected);
  });

  test("leave what the youngest says when they come at once", async () => {
    const database = await openDatabase(10);
    for (let round = 0; round < 25; round += 1) {
      const recordId = `r${round}`;
      await Promise.all([
        upsert(database, { recordId, position: 1, title: "title 1" }),
        remove(database, { recordId, position: 2 }),
        upsert(database, { recordId, position: 3, title: "title 3" }),
        remove(database, { recordId, position: 4 }),
      ]);
      expect(await documentOf(database, recordId)).toMatchObject({ position: "4", deleted: true });
    }
    expect(await rowsOf(database, `SELECT count(*)::int AS n FROM "SearchDocument"`)).toEqual([{ n: 25 }]);
  });

  test("say whether they were applied: a younger one had not been there", async () => {
    const database = await openDatabase();
    expect(await upsert(database, { position: 5 })).toBe(true);
    expect(await remove(database, { position: 4 })).toBe(false);
    expect(await upsert(database, { position: 4 })).toBe(false);
    expect(await remove(database, { position: 6 })).toBe(true);
    expect(await upsert(database, { position: 5 })).toBe(false);
  });

  test("compare positions as numbers, also above what a double holds", async () => {
    const database = await openDatabase();
    const [younger, older] = ["9007199254740993", "9007199254740992"];
    for (const [position, applied] of Object.entries({ "9": true, "10": true, [younger]: true, [older]: false })) {
      expect(await upsert(database, { position, title: position }), position).toBe(applied);
    }
    expect(await documentOf(database, "1")).toMatchObject({ title: younger, position: younger });
  });

  test("are applied again when the same one comes again: a row that was changed by hand is mended", async () => {
    const database = await openDatabase();
    const eventId = randomUUID();
    await upsert(database, { position: 5, title: "right", eventId });
    await database.pool.query(`UPDATE "SearchDocument" SET "title" = 'changed by hand'`);
    expect(await upsert(database, { position: 5, title: "right", eventId })).toBe(true);
    expect(await documentOf(database, "1")).toMatchObject({ title: "right", position: "5" });
    expect(await rowsOf(database, `SELECT 1 FROM "SearchDocument"`)).toHaveLength(1);
  });
});

test("a record of one tenant has nothing to do with the same record of another", async () => {
  const database = await openDatabase();
  await upsert(database, { tenantId: "a", position: 1, title: "of a" });
  await upsert(database, { tenantId: "b", position: 2, title: "of b" });
  await remove(database, { tenantId: "b", position: 3 });
  expect(await documentOf(database, "1", "a")).toMatchObject({ title: "of a", position: "1", deleted: false });
  expect(await documentOf(database, "1", "b")).toMatchObject({ title: "", position: "3", deleted: true });
});

test("of a deleted record nothing is kept but that it was deleted, and nobody finds it", async () => {
  const database = await openDatabase();
  await upsert(database, { position: 1, title: "Ann", body: "secret", attributes: { phone: 1 } });
  await remove(database, { position: 2 });
  expect(await rowsOf(database, `SELECT * FROM "SearchDocument"`)).toEqual([
    {
      tenantId: TENANT,
      collection: "lead",
      recordId: "1",
      title: "",
      body: "",
      language: "simple",
      attributes: {},
      words: "",
      eventId: expect.any(String),
      effectEpoch: 0,
      appliedPosition: "2",
      appliedAt: expect.any(Date),
      deletedAt: expect.any(Date),
    },
  ]);
});

test("a document is refused, with the path, where the server has no such language or its words do not fit the index", async () => {
  const database = await openDatabase();
  const refused = { code: "RECEIVER.PAYLOAD", retry: false };
  expect(await rejection(upsert(database, { language: "klingon" }))).toMatchObject({ ...refused, facts: { paths: ["language"] } });
  // A configuration of somebody's own schema may change its meaning behind the index; only the server's are taken.
  await database.pool.query(`CREATE TEXT SEARCH CONFIGURATION public.own (COPY = pg_catalog.english)`);
  expect(await rejection(upsert(database, { language: "own" }))).toMatchObject({ ...refused, facts: { paths: ["language"] } });
  const body = Array.from({ length: 120_000 }, (_, index) => `w${index.toString(36)}`).join(" ");
  expect(await rejection(upsert(database, { body }))).toMatchObject({ ...refused, facts: { paths: ["body"] } });
  expect(await rowsOf(database, `SELECT 1 FROM "SearchDocument"`)).toEqual([]);
});
