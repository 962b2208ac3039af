import type { AfterSaveEffect, EffectEvent } from "@toolctrl/db/after-save-effect";
import type { Database } from "@toolctrl/db/client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFieldSetEffect, ROW_FIELD_SETS, type FieldSet } from "../src/field-sets.ts";
import { readRow, rowCreate, rowDelete, rowUpdate, type Row } from "../src/rows.ts";
import { deliver, openDatabase, publishedEvents, rowsOf, TENANT } from "./support.ts";

const EFFECTS = [createFieldSetEffect(ROW_FIELD_SETS)];
const IN_TX = { maxWait: 60_000, timeout: 60_000 };

function create(db: Database, table: string, name: string, parent?: Row, tenantId = TENANT): Promise<Row> {
  return db.prisma.$transaction(async (tx) => (await rowCreate(tx, { tenantId, table, data: { name }, parent })).row, IN_TX);
}

async function rename(db: Database, row: Row, ...names: string[]): Promise<void> {
  for (const name of names) await db.prisma.$transaction((tx) => rowUpdate(tx, { ...row, data: { name } }), IN_TX);
}

const fieldsOf = async (db: Database, row: Row): Promise<unknown> => (await readRow(db.prisma, row))?.fields;
const eventsOf = async (db: Database, row: Row): Promise<EffectEvent[]> =>
  (await publishedEvents(db)).filter(({ recordKey }) => recordKey === `${row.table}/${row.id}`);

describe("a field-set effect", () => {
  test("that comes late sets the value of its snapshot, never that of the newer row", async () => {
    const db = await openDatabase();
    const row = await create(db, "deal", "first");
    await rename(db, row, "second", "third");
    const [first, second, third] = (await eventsOf(db, row)) as [EffectEvent, EffectEvent, EffectEvent];
    await deliver(db, EFFECTS, first);
    expect(await fieldsOf(db, row)).toEqual({ label: "first" });
    await deliver(db, EFFECTS, third);
    for (const late of [third, second, first]) await deliver(db, EFFECTS, late);
    expect(await fieldsOf(db, row)).toEqual({ label: "third" });
  });

  test("never overwrites what a person has written, and is never overwritten by one", async () => {
    const db = await openDatabase();
    const row = await create(db, "deal", "first");
    await db.prisma.$transaction((tx) => rowUpdate(tx, { ...row, data: { label: "by hand" } }), IN_TX);
    for (const event of await eventsOf(db, row)) await deliver(db, EFFECTS, event);
    expect(await readRow(db.prisma, row)).toMatchObject({ data: { label: "by hand" }, fields: { label: "first" }, revision: 2 });
  });

  test("delivered 8 times at once with all its neighbours leaves the value of the youngest", async () => {
    const db = await openDatabase(8);
    const row = await create(db, "deal", "0");
    await rename(db, row, "1", "2", "3", "4");
    const events = await eventsOf(db, row);
    await Promise.all(Array.from({ length: 8 }, () => events.map((event) => deliver(db, EFFECTS, event))).flat());
    expect(await fieldsOf(db, row)).toEqual({ label: "4" });
    expect(await rowsOf(db, `SELECT "appliedPosition"::text AS "at" FROM "RowField"`)).toEqual([{ at: String(events.at(-1)?.position) }]);
  });

  test("under any order and number of deliveries, some rolled back, holds the value of the youngest that committed", async () => {
    const db = await openDatabase();
    const parent = await create(db, "account", "parent");
    const children = [await create(db, "deal", "a0", parent), await create(db, "deal", "b0", parent)];
    for (const [index, child] of children.entries()) await rename(db, child, ..."123".split("").map((n) => `${index}-${n}`));
    const events = (await publishedEvents(db)).filter(({ recordKey }) => recordKey?.startsWith("deal/"));
    const delivery = fc.record({ index: fc.nat(events.length - 1), fails: fc.boolean() });
    const property = fc.asyncProperty(fc.array(delivery, { minLength: 1, maxLength: 12 }), async (deliveries) => {
      await db.pool.query(`DELETE FROM "RowField"`);
      let youngest = -1;
      for (const { index, fails } of deliveries) {
        const event = events[index] as EffectEvent;
        const undo = async (): Promise<void> => Promise.reject(new Error("rolled back"));
        await deliver(db, EFFECTS, event, fails ? undo : undefined).catch(() => undefined);
        if (!fails) youngest = Math.max(youngest, index);
      }
      const { recordId, after } = (events[youngest]?.payload ?? {}) as { recordId?: string; after?: { data: { name: string } } };
      const expected = youngest === -1 ? {} : { latestChild: recordId, latestChildLabel: after?.data.name };
      expect(await fieldsOf(db, parent)).toEqual(expected);
    });
    await fc.assert(property, { numRuns: 20 });
  });

  test("sets null where its snapshot has nothing, and keeps every kind of JSON value", async () => {
    const db = await openDatabase();
    const values = [null, false, 0, "", [], { a: [null] }, "ä\u2028"];
    const sets: FieldSet[] = [
      { table: "deal", changes: ["created"], on: ["id"], field: "copy", kind: "value", from: ["data", "value"] },
      { table: "deal", changes: ["created"], on: ["id"], field: "none", kind: "value", from: ["data", "constructor", "name"] },
    ];
    for (const value of values) {
      const { row } = await db.prisma.$transaction((tx) => rowCreate(tx, { tenantId: TENANT, table: "deal", data: { value } }), IN_TX);
      for (const event of await eventsOf(db, row)) await deliver(db, [createFieldSetEffect(sets)], event);
      expect(await fieldsOf(db, row)).toEqual({ copy: value, none: null });
    }
  });
});

describe("a lookup-set effect", () => {
  test("that comes late sets the lookup of its snapshot; an older one never replaces a younger one's", async () => {
    const db = await openDatabase();
    const parent = await create(db, "account", "parent");
    const [older, younger] = [await create(db, "deal", "older", parent), await create(db, "deal", "younger", parent)];
    const [first] = await eventsOf(db, older);
    const [second] = await eventsOf(db, younger);
    await deliver(db, EFFECTS, first as EffectEvent);
    expect(await fieldsOf(db, parent)).toEqual({ latestChild: older.id, latestChildLabel: "older" });
    await deliver(db, EFFECTS, second as EffectEvent);
    await deliver(db, EFFECTS, first as EffectEvent);
    expect(await fieldsOf(db, parent)).toEqual({ latestChild: younger.id, latestChildLabel: "younger" });
  });

  test("of a row that is gone ends as if it had come in time: the lookup is empty", async () => {
    const db = await openDatabase();
    const ends: unknown[] = [];
    for (const inTime of [true, false]) {
      const parent = await create(db, "account", "parent");
      const child = await create(db, "deal", "child", parent);
      const [created] = (await eventsOf(db, child)) as [EffectEvent];
      if (inTime) await deliver(db, EFFECTS, created);
      await db.prisma.$transaction((tx) => rowDelete(tx, child), IN_TX);
      if (!inTime) await deliver(db, EFFECTS, created);
      ends.push(await fieldsOf(db, parent));
    }
    expect(ends).toEqual([{ latestChild: null, latestChildLabel: "child" }, ends[0]]);
  });

  test("on a row that is gone does nothing", async () => {
    const db = await openDatabase();
    const row = await create(db, "deal", "first");
    const [created] = (await eventsOf(db, row)) as [EffectEvent];
    await db.prisma.$transaction((tx) => rowDelete(tx, row), IN_TX);
    await deliver(db, EFFECTS, created);
    expect(await rowsOf(db, `SELECT 1 FROM "RowField"`)).toEqual([]);
  });
});

test("a snapshot that names rows of another tenant reaches none of them", async () => {
  const db = await openDatabase();
  const foreign = await create(db, "account", "foreign", undefined, "tenant-b");
  const row = await create(db, "deal", "own");
  const sets: FieldSet[] = [
    { table: null, changes: ["updated"], on: ["data", "target"], field: "x", kind: "value", from: ["id"] },
    { table: null, changes: ["updated"], on: ["id"], field: "link", kind: "lookup", from: ["data", "target"] },
  ];
  await db.prisma.$transaction((tx) => rowUpdate(tx, { ...row, data: { target: foreign.id } }), IN_TX);
  for (const event of await eventsOf(db, row)) await deliver(db, [createFieldSetEffect(sets)], event);
  expect([await fieldsOf(db, foreign), await fieldsOf(db, row)]).toEqual([{}, { link: null }]);
});

test.each([
  ["record.lead.converted", { object: "lead", recordId: "x" }],
  ["record.deal.updated", { anything: true }],
  ["record.deal.updated", { object: "deal", recordId: "not-a-uuid", after: { id: "1", parentId: null, revision: 1, data: {} } }],
  ["record.deal.updated.twice", { object: "deal" }],
])("an event %s that carries no row's snapshot sets nothing and fails nothing", async (type, payload) => {
  const [effect] = EFFECTS as [AfterSaveEffect];
  const event = { id: "e", tenantId: TENANT, type, payload, position: 1n, recordKey: null, correlationId: null, depth: 0 };
  // No client: it would fail at the first statement.
  await expect(effect.run({} as never, event)).resolves.toBeUndefined();
});
