import type { Database, Prisma } from "@toolctrl/db/client";
import { describe, expect, test } from "vitest";
import { MAX_ROW_LEVEL, readRow, rowCreate, rowDelete, rowUpdate, type Row } from "../src/rows.ts";
import { openDatabase, publishedEvents, rejection, rowsOf, TENANT } from "./support.ts";

const IN_TX = { maxWait: 60_000, timeout: 60_000 };

function create(db: Database, table: string, name: string, parent?: Row): Promise<Row> {
  return db.prisma.$transaction(async (tx) => (await rowCreate(tx, { tenantId: TENANT, table, data: { name }, parent })).row, IN_TX);
}

describe("a change of a row", () => {
  test("publishes its event with the row as it was and as it is, and no position", async () => {
    const db = await openDatabase();
    const event = { correlationId: "c-1", causationId: "e-0", depth: 2 };
    const { id } = await db.prisma.$transaction(async (tx) => {
      const { row } = await rowCreate(tx, { tenantId: TENANT, table: "deal", data: { name: "A", n: 1 }, event });
      await rowUpdate(tx, { ...row, data: { n: null }, event });
      await rowDelete(tx, { ...row, event });
      return row;
    });
    const key = { object: "deal", recordId: id };
    const first = { id, parentId: null, revision: 1, data: { name: "A", n: 1 } };
    const second = { id, parentId: null, revision: 2, data: { name: "A", n: null } };
    expect(await publishedEvents(db)).toMatchObject([
      { type: "record.deal.created", payload: { ...key, after: first }, recordKey: `deal/${id}`, correlationId: "c-1", depth: 2 },
      { type: "record.deal.updated", payload: { ...key, before: first, after: second }, recordKey: `deal/${id}` },
      { type: "record.deal.deleted", payload: { ...key, before: second }, recordKey: `deal/${id}` },
    ]);
    expect((await publishedEvents(db))[2]?.payload).toEqual({ ...key, before: second });
  });

  test("and its event are there together or not at all", async () => {
    const db = await openDatabase();
    const row = await create(db, "deal", "A");
    const undone = db.prisma.$transaction(async (tx) => {
      await rowUpdate(tx, { ...row, data: { name: "B" } });
      await rowCreate(tx, { tenantId: TENANT, table: "deal", data: {} });
      throw new Error("the business said no");
    });
    expect((await rejection(undone)).message).toBe("the business said no");
    expect(await readRow(db.prisma, row)).toMatchObject({ revision: 1, data: { name: "A" } });
    expect(await publishedEvents(db)).toHaveLength(1);
  });

  test("through the root client is refused before it writes", async () => {
    const db = await openDatabase();
    const row = await create(db, "deal", "A");
    const root = db.prisma as unknown as Prisma.TransactionClient;
    const attempts = [
      () => rowCreate(root, { tenantId: TENANT, table: "deal", data: {} }),
      () => rowUpdate(root, { ...row, data: { name: "B" } }),
      () => rowDelete(root, row),
    ];
    for (const attempt of attempts) expect(await rejection(attempt())).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
    expect(await rowsOf(db, `SELECT "data" FROM "Row"`)).toEqual([{ data: { name: "A" } }]);
  });

  test("made by 20 writers at once leaves every update, and events in the order of the revisions", async () => {
    const db = await openDatabase(20);
    const row = await create(db, "deal", "A");
    const write = (n: number) => db.prisma.$transaction((tx) => rowUpdate(tx, { ...row, data: { [`field${n}`]: n } }), IN_TX);
    await Promise.all(Array.from({ length: 20 }, (_, n) => write(n)));
    const after = await readRow(db.prisma, row);
    expect([after?.revision, Object.keys(after?.data ?? {})]).toMatchObject([21, { length: 21 }]);
    const revisions = (await publishedEvents(db)).map(({ payload }) => (payload as { after: { revision: number } }).after.revision);
    expect(revisions).toEqual(Array.from({ length: 21 }, (_, n) => n + 1));
  });

  test("of another tenant's row, of another table's or of none is refused as not found", async () => {
    const db = await openDatabase();
    const row = await create(db, "deal", "A");
    const missing = { ...row, id: "00000000-0000-7000-8000-000000000000" };
    for (const key of [{ ...row, tenantId: "tenant-b" }, { ...row, table: "invoice" }, missing]) {
      const changes: Array<(tx: Prisma.TransactionClient) => Promise<unknown>> = [
        (tx) => rowUpdate(tx, { ...key, data: {} }),
        (tx) => rowDelete(tx, key),
        (tx) => rowCreate(tx, { tenantId: key.tenantId, table: "line", data: {}, parent: key }),
      ];
      for (const change of changes) expect(await rejection(db.prisma.$transaction(change))).toMatchObject({ code: "ROW.NOT_FOUND" });
    }
    expect(await readRow(db.prisma, { ...row, tenantId: "tenant-b" })).toBeNull();
  });
});

describe("bad input is refused before any SQL, so the transaction can still commit:", () => {
  const deep = Array.from({ length: 70 }).reduce<object>((inner) => ({ inner }), {});
  test.each<[string, string, unknown, string]>([
    ["a table that is no event segment", "Deal", {}, "table"],
    ["a table the product keeps itself", "lead", {}, "lead, which the product keeps itself"],
    ["U+0000 inside", "deal", { note: "a\u0000b" }, "data.note"],
    ["a number that JSON does not know", "deal", { n: Number.NaN }, "data.n"],
    ["a list", "deal", [], "an array"],
    ["more than 256 KiB", "deal", { text: "x".repeat(256 * 1024) }, "262144 bytes"],
    ["what is stored but could not be published", "deal", deep, "levels of nesting"],
  ])("%s", async (_what, table, data, named) => {
    const db = await openDatabase();
    await db.prisma.$transaction(async (tx) => {
      const error = await rejection(rowCreate(tx, { tenantId: TENANT, table, data: data as Record<string, never> }));
      expect([error.code, error.message]).toEqual(["ROW.ARGUMENT", expect.stringContaining(named)]);
      await rowCreate(tx, { tenantId: TENANT, table: "deal", data: { ok: true } });
    });
    expect(await rowsOf(db, `SELECT "data" FROM "Row"`)).toEqual([{ data: { ok: true } }]);
  });

  test("an update that would grow the row beyond its limit", async () => {
    const db = await openDatabase();
    const text = "x".repeat(200 * 1024);
    await db.prisma.$transaction(async (tx: Prisma.TransactionClient) => {
      const { row } = await rowCreate(tx, { tenantId: TENANT, table: "deal", data: { a: text } });
      expect(await rejection(rowUpdate(tx, { ...row, data: { b: text } }))).toMatchObject({ code: "ROW.ARGUMENT" });
    });
    expect(await publishedEvents(db)).toHaveLength(1);
  });

  test("a row deeper than a cascade goes", async () => {
    const db = await openDatabase();
    await db.prisma.$transaction(async (tx) => {
      let parent: Row | undefined;
      for (let level = 0; level <= MAX_ROW_LEVEL; level += 1) {
        ({ row: parent } = await rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, parent }));
      }
      expect(await rejection(rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, parent }))).toMatchObject({ code: "ROW.ARGUMENT" });
    });
  });
});
