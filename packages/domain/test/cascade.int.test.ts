import { transaction, type Database } from "@toolctrl/db/client";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createFieldSetEffect, ROW_FIELD_SETS } from "../src/field-sets.ts";
import { MAX_CASCADE_ROWS, readRow, rowCreate, rowDelete, rowUpdate, type Row } from "../src/rows.ts";
import { deliver, gate, openDatabase, publishedEvents, rejection, rowsOf, TENANT, WAITING } from "./support.ts";

const IN_TX = { maxWait: 60_000, timeout: 60_000 };
const EFFECTS = [createFieldSetEffect(ROW_FIELD_SETS)];

function create(db: Database, table: string, name: string, parent?: Row): Promise<Row> {
  return db.prisma.$transaction(async (tx) => (await rowCreate(tx, { tenantId: TENANT, table, data: { name }, parent })).row, IN_TX);
}

/** A cascade that stands still once a level is locked, until it is let go on. */
function heldCascade(db: Database, root: Row, level = 0): { locked: Promise<void>; letGo(): void; done: Promise<unknown> } {
  const [locked, go] = [gate(), gate()];
  const onLevelLocked = async (got: { level: number }): Promise<void> => {
    if (got.level !== level) return;
    locked.open();
    await go.opened;
  };
  const done = db.prisma.$transaction((tx) => rowDelete(tx, { ...root, onLevelLocked }), IN_TX);
  return { locked: Promise.race([locked.opened, done.then(() => undefined)]), letGo: go.open, done };
}

test("a cascade deletes the row and all below it, deepest first, each with its event, and nothing else", async () => {
  const db = await openDatabase();
  const root = await create(db, "account", "root");
  const left = await create(db, "deal", "left", root);
  const right = await create(db, "deal", "right", root);
  const leaf = await create(db, "line", "leaf", left);
  const other = await create(db, "account", "other");
  const before = (await publishedEvents(db)).length;
  const deleted = await db.prisma.$transaction((tx) => rowDelete(tx, root), IN_TX);
  expect(deleted.map(({ id }) => id)).toEqual([leaf.id, right.id, left.id, root.id]);
  expect(await rowsOf(db, `SELECT "id" FROM "Row"`)).toEqual([{ id: other.id }]);
  const events = (await publishedEvents(db)).slice(before);
  expect(events.map(({ id }) => id)).toEqual(deleted.map(({ eventId }) => eventId));
  expect(events).toMatchObject([
    { type: "record.line.deleted", recordKey: `line/${leaf.id}`, payload: { cascadeRootId: root.id, before: { data: { name: "leaf" } } } },
    { type: "record.deal.deleted", recordKey: `deal/${right.id}` },
    { type: "record.deal.deleted", recordKey: `deal/${left.id}` },
    { type: "record.account.deleted", payload: { object: "account", recordId: root.id } },
  ]);
  expect(events[3]?.payload).not.toHaveProperty("cascadeRootId");
});

test("a cascade holds its rows alone: other records change at once, new children wait and then find no parent", async () => {
  const db = await openDatabase();
  const [root, other] = [await create(db, "account", "root"), await create(db, "account", "other")];
  const child = await create(db, "deal", "child", root);
  const cascade = heldCascade(db, root);
  await cascade.locked;
  const late = create(db, "deal", "late", root);
  await waitFor(async () => (await db.pool.query(WAITING)).rowCount, { what: "the new child to wait for the cascade" });
  // Neither needs the cascade to end.
  await db.prisma.$transaction((tx) => rowUpdate(tx, { ...other, data: { name: "changed" } }), IN_TX);
  await db.prisma.$transaction((tx) => rowUpdate(tx, { ...child, data: { name: "not locked yet" } }), IN_TX);
  cascade.letGo();
  expect(await rejection(late)).toMatchObject({ code: "ROW.NOT_FOUND" });
  await cascade.done;
  expect(await rowsOf(db, `SELECT "id" FROM "Row"`)).toEqual([{ id: other.id }]);
});

test("a child that is being added when the cascade begins goes with it", async () => {
  const db = await openDatabase();
  const root = await create(db, "account", "root");
  const [added, commit] = [gate(), gate()];
  const adding = db.prisma.$transaction(async (tx) => {
    await rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, parent: root });
    added.open();
    await commit.opened;
  }, IN_TX);
  await added.opened;
  const cascade = db.prisma.$transaction((tx) => rowDelete(tx, root), IN_TX);
  await waitFor(async () => (await db.pool.query(WAITING)).rowCount, { what: "the cascade to wait for the child" });
  commit.open();
  await adding;
  expect(await cascade).toHaveLength(2);
  expect(await rowsOf(db, `SELECT 1 FROM "Row"`)).toEqual([]);
});

test.each([0, 1])(
  "effects of events on its rows answer 55P03 at once while level %d is held, and find nothing to do afterwards",
  async (level) => {
    const db = await openDatabase(12);
    const root = await create(db, "account", "root");
    for (let n = 0; n < 8; n += 1) await create(db, "deal", `child ${n}`, root);
    const events = (await publishedEvents(db)).filter(({ type }) => type === "record.deal.created");
    const cascade = heldCascade(db, root, level);
    await cascade.locked;
    // No lock time-out is set: an effect that waited would hang here.
    for (const event of events) expect((await rejection(deliver(db, EFFECTS, event))).message).toContain("55P03");
    cascade.letGo();
    await cascade.done;
    for (const event of events) await deliver(db, EFFECTS, event);
    expect(await rowsOf(db, `SELECT 1 FROM "RowField"`)).toEqual([]);
  },
);

test("a cascade that is rolled back has changed nothing, and the effects it held up take place", async () => {
  const db = await openDatabase();
  const root = await create(db, "account", "root");
  const child = await create(db, "deal", "child", root);
  const events = await publishedEvents(db);
  const undone = db.prisma.$transaction(async (tx) => {
    await rowDelete(tx, root);
    throw new Error("no");
  }, IN_TX);
  await rejection(undone);
  for (const event of events) await deliver(db, EFFECTS, event);
  expect(await readRow(db.prisma, root)).toMatchObject({ fields: { latestChild: child.id, latestChildLabel: "child" } });
});

test("two cascades whose rows look each other up do not wait in a circle", async () => {
  const db = await openDatabase();
  const [a, b] = [await create(db, "account", "a"), await create(db, "account", "b")];
  await db.pool.query(
    `INSERT INTO "RowField" ("rowId", "field", "lookupId", "appliedPosition")
     SELECT r, f, l, 1 FROM (VALUES ($1::uuid, $2::uuid), ($2::uuid, $1::uuid)) AS x(r, l), unnest(ARRAY['first', 'second']) f`,
    [a.id, b.id],
  );
  // Stops both in the middle of their fields: what they hold by then is what the other wants next.
  const [held, letGo] = [gate(), gate()];
  const holder = transaction(db.pool, async (tx) => {
    await tx.query(`SELECT 1 FROM "RowField" WHERE "field" = 'second' FOR UPDATE`);
    held.open();
    await letGo.opened;
  });
  await held.opened;
  const cascades = [a, b].map((row) => db.prisma.$transaction((tx) => rowDelete(tx, row), IN_TX));
  await waitFor(async () => (await db.pool.query(WAITING)).rowCount === 2, { what: "both cascades to wait" });
  letGo.open();
  await holder;
  expect((await Promise.all(cascades)).map(({ length }) => length)).toEqual([1, 1]);
  expect(await rowsOf(db, `SELECT 1 FROM "Row"`)).toEqual([]);
});

test("a cascade beyond its limit is refused, and nothing is deleted", async () => {
  const db = await openDatabase();
  const root = await create(db, "account", "root");
  await db.pool.query(
    `INSERT INTO "Row" ("id", "tenantId", "table", "parentId", "level", "data")
     SELECT gen_random_uuid(), $1, 'deal', $2, 1, '{}' FROM generate_series(1, $3::int)`,
    [TENANT, root.id, MAX_CASCADE_ROWS],
  );
  const cascade = db.prisma.$transaction((tx) => rowDelete(tx, root), IN_TX);
  expect(await rejection(cascade)).toMatchObject({ code: "ROW.CASCADE_TOO_LARGE" });
  expect(await rowsOf(db, `SELECT count(*)::int AS "n" FROM "Row"`)).toEqual([{ n: MAX_CASCADE_ROWS + 1 }]);
});

test("a cascade of many hundred rows over several levels publishes one event for each", async () => {
  const db = await openDatabase();
  const root = await create(db, "account", "root");
  await db.pool.query(
    `WITH deals AS (INSERT INTO "Row" ("id", "tenantId", "table", "parentId", "level", "data")
       SELECT gen_random_uuid(), $1, 'deal', $2, 1, '{}' FROM generate_series(1, 150) RETURNING "id")
     INSERT INTO "Row" ("id", "tenantId", "table", "parentId", "level", "data")
     SELECT gen_random_uuid(), $1, 'line', d."id", 2, '{}' FROM deals d, generate_series(1, 3)`,
    [TENANT, root.id],
  );
  const deleted = await db.prisma.$transaction((tx) => rowDelete(tx, root), IN_TX);
  expect([deleted.length, new Set(deleted.map(({ eventId }) => eventId)).size]).toEqual([601, 601]);
  expect(await rowsOf(db, `SELECT 1 FROM "Row"`)).toEqual([]);
  const counts = `SELECT "eventType" AS "type", count(*)::int AS "n" FROM "OutboxEvent" WHERE "eventType" LIKE '%.deleted' GROUP BY 1 ORDER BY 1`;
  expect(await rowsOf(db, counts)).toEqual([
    { type: "record.account.deleted", n: 1 },
    { type: "record.deal.deleted", n: 150 },
    { type: "record.line.deleted", n: 450 },
  ]);
});
