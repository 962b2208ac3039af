import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_EVENTS_PER_PUBLISH, publishOutboxEvent, publishOutboxEvents, type OutboxEventInput } from "../src/outbox.ts";
import { openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const order = (n: number, dispatchKey?: string): OutboxEventInput => ({
  tenantId: TENANT,
  type: "shop.order.place",
  payload: { n },
  dispatchKey,
});

test("lists of 0, 1 and 1,000 events are published, and one more is refused", async () => {
  const db = await openDatabase();
  for (const count of [0, 1, MAX_EVENTS_PER_PUBLISH]) {
    const events = Array.from({ length: count }, (_, n) => order(n));
    expect(await db.prisma.$transaction((tx) => publishOutboxEvents(tx, events))).toHaveLength(count);
  }
  const tooMany = Array.from({ length: MAX_EVENTS_PER_PUBLISH + 1 }, (_, n) => order(n));
  expect(await rejection(db.prisma.$transaction((tx) => publishOutboxEvents(tx, tooMany)))).toMatchObject({ code: "PUBLISH.ARGUMENT" });
  expect(await rowsOf(db, `SELECT count(*)::int AS "rows" FROM "OutboxEvent"`)).toEqual([{ rows: 1_001 }]);
});

test("results and positions of a list are in its order", async () => {
  const db = await openDatabase();
  const events = Array.from({ length: 300 }, (_, n) => order(n, n % 7 === 0 ? `key-${(n * 31) % 300}` : undefined));
  const results = await db.prisma.$transaction((tx) => publishOutboxEvents(tx, events));
  const rows = await rowsOf(db, `SELECT "id", ("payload"->>'n')::int AS "n" FROM "OutboxEvent" ORDER BY "position"`);
  expect(rows).toEqual(results.map(({ id }, n) => ({ id, n })));
});

test("a dispatch key that comes twice in a list is a duplicate of its first occurrence", async () => {
  const db = await openDatabase();
  const earlier = await db.prisma.$transaction((tx) => publishOutboxEvent(tx, order(0, "old")));
  const results = await db.prisma.$transaction((tx) =>
    publishOutboxEvents(tx, [order(1, "new"), order(2), order(3, "old"), order(4, "new"), order(5, "old")]),
  );
  expect(results.map((result) => result.duplicate)).toEqual([false, false, true, true, true]);
  expect(results[3]?.id).toBe(results[0]?.id);
  expect([results[2]?.id, results[4]?.id]).toEqual([earlier.id, earlier.id]);
  expect(await rowsOf(db, `SELECT ("payload"->>'n')::int AS "n" FROM "OutboxEvent" ORDER BY "position"`)).toEqual([
    { n: 0 },
    { n: 1 },
    { n: 2 },
  ]);
});

test("one bad event refuses the whole list before any SQL and is named by its index", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction(async (tx) => {
    const bad = { ...order(2), payload: { x: Number.NaN } };
    const error = await rejection(publishOutboxEvents(tx, [order(1), bad]));
    expect(error).toMatchObject({ code: "PUBLISH.PAYLOAD_NOT_JSON", facts: { index: 1, path: "payload.x" } });
    await publishOutboxEvent(tx, order(3));
  });
  expect(await rowsOf(db, `SELECT "payload" FROM "OutboxEvent"`)).toEqual([{ payload: { n: 3 } }]);
});

test("a hole in a list, nothing in the place of an event, and what is no list are refused before any SQL", async () => {
  const db = await openDatabase();
  const bad: unknown[] = [
    // oxlint-disable-next-line no-sparse-arrays
    [order(1), , order(2)],
    [order(1), undefined],
    [order(1), null],
  ];
  await db.prisma.$transaction(async (tx) => {
    const publish = (events: unknown) => rejection(publishOutboxEvents(tx, events as OutboxEventInput[]));
    for (const events of bad)
      expect(await publish(events)).toMatchObject({ code: "PUBLISH.ARGUMENT", facts: { index: 1, field: "event" } });
    for (const events of [undefined, null, "ab", { 0: order(1), length: 1 }])
      expect(await publish(events)).toMatchObject({ code: "PUBLISH.ARGUMENT" });
    await publishOutboxEvent(tx, order(3));
  });
  expect(await rowsOf(db, `SELECT "payload" FROM "OutboxEvent"`)).toEqual([{ payload: { n: 3 } }]);
});

test("two lists with the same keys at once write each key once and agree on the ids", async () => {
  const db = await openDatabase();
  const events = Array.from({ length: 50 }, (_, n) => order(n, `key-${n}`));
  const [a, b] = await Promise.all([1, 2].map(() => db.prisma.$transaction((tx) => publishOutboxEvents(tx, events))));
  expect(a?.map((result) => result.id)).toEqual(b?.map((result) => result.id));
  expect(await rowsOf(db, `SELECT count(*)::int AS "rows" FROM "OutboxEvent"`)).toEqual([{ rows: 50 }]);
});

test("what is read back deep-equals what was accepted, alone and in a list", async () => {
  const db = await openDatabase();
  // Storable JSON: no U+0000, no lone surrogate, and no minus zero, which JSON does not know.
  const text = fc.string({ unit: "binary", maxLength: 20 }).map((value) => value.toWellFormed().replaceAll("\u0000", ""));
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      number,
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4 }),
    ),
  }));
  const payloads = fc.array(fc.dictionary(text, value, { maxKeys: 5 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(payloads, async (list) => {
      const events = list.map((payload) => ({
        tenantId: TENANT,
        type: "shop.order.place",
        payload: payload as OutboxEventInput["payload"],
      }));
      const [first] = events;
      if (first === undefined) return;
      const results = await db.prisma.$transaction(async (tx) => [
        ...(await publishOutboxEvents(tx, events)),
        await publishOutboxEvent(tx, first),
      ]);
      const rows = await rowsOf(db, `SELECT "payload" FROM "OutboxEvent" WHERE "id" = ANY ($1::uuid[]) ORDER BY "position"`, [
        results.map(({ id }) => id),
      ]);
      expect(rows.map((row) => row["payload"])).toEqual([...list, list[0]].map((payload) => structuredClone(payload)));
    }),
    { numRuns: 60 },
  );
});
