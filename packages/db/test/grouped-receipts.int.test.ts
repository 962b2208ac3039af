import { randomUUID } from "node:crypto";
import { waitFor } from "@toolctrl/testkit/wait";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createGroupedReceipts, createReceiptAuthority, listReceipts, recordDead } from "../src/receipts.ts";
import type { Queryable } from "../src/sql.ts";
import { openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const scope = { tenantId: TENANT, consumer: "mail-render", effectEpoch: 0 };

/** Counts the statements that pass. */
function counted(pool: pg.Pool): Queryable & { statements: number } {
  const db: Queryable & { statements: number } = {
    statements: 0,
    query: (text, values) => {
      db.statements += 1;
      return pool.query(text, values);
    },
  };
  return db;
}

test("receipts that are written at once share a statement, and each is what it would be alone", async () => {
  const db = await openDatabase();
  const pool = counted(db.pool);
  const receiptsOf = createGroupedReceipts(pool);
  const results: unknown[] = [undefined, null, 0, "", false, { a: ['"', "\\", "{}", null] }, "NULL", 1n];
  const events = results.map((result, index) => ({ eventId: randomUUID(), result, consumer: `consumer-${index % 3}` }));
  await Promise.all(events.map(({ eventId, result, consumer }) => receiptsOf({ ...scope, consumer }).record(eventId, result)));
  expect(pool.statements).toBe(1);
  const alone = await Promise.all(
    events.map(({ eventId, consumer }) => createReceiptAuthority(db.pool, { ...scope, consumer }).find(eventId)),
  );
  expect(alone).toEqual(results.map((result) => ({ result: typeof result === "bigint" ? undefined : result })));
  expect((await listReceipts(db.pool, events[7]?.eventId ?? ""))[0]?.detail).toMatch(/^result not stored/);

  pool.statements = 0;
  const together = await Promise.all(
    [...events, { eventId: randomUUID(), consumer: "consumer-0" }].map(({ eventId, consumer }) =>
      receiptsOf({ ...scope, consumer }).find(eventId),
    ),
  );
  expect(pool.statements).toBe(1);
  expect(together).toEqual([...alone, null]);
});

test("a group asks for each receipt in its own tenant's, consumer's and epoch's terms", async () => {
  const db = await openDatabase();
  const receiptsOf = createGroupedReceipts(db.pool);
  const eventId = randomUUID();
  await receiptsOf({ ...scope, effectEpoch: 1 }).record(eventId, "first");
  await recordDead(db.pool, { ...scope, generation: 0, consumer: "email-send", eventId, error: "550" });
  const find = (consumer: string, effectEpoch: number, anyEpoch: boolean) =>
    receiptsOf({ ...scope, consumer, effectEpoch, anyEpoch }).find(eventId);
  const found = await Promise.all([
    find("mail-render", 0, true),
    find("mail-render", 0, false),
    find("mail-render", 1, false),
    find("email-send", 0, true),
  ]);
  expect(found).toEqual([{ result: "first" }, null, { result: "first" }, null]);
});

test("in a group, a dead receipt gives way, a done one stays, and the first of two for one event counts", async () => {
  const db = await openDatabase();
  const receiptsOf = createGroupedReceipts(db.pool);
  const [dead, done, twice] = [randomUUID(), randomUUID(), randomUUID()];
  await recordDead(db.pool, { ...scope, generation: 0, eventId: dead, error: "550" });
  await receiptsOf(scope).record(done, "earlier");
  const receipts = receiptsOf(scope);
  await Promise.all([
    receipts.record(dead, "now done"),
    receipts.record(done, "later"),
    receipts.record(twice, 1),
    receipts.record(twice, 2),
  ]);
  expect(await Promise.all([dead, done, twice].map((eventId) => receipts.find(eventId)))).toEqual([
    { result: "now done" },
    { result: "earlier" },
    { result: 1 },
  ]);
});

test("an id that is no uuid fails alone, in look-ups and in writes", async () => {
  const db = await openDatabase();
  const receipts = createGroupedReceipts(db.pool)(scope);
  const [a, b] = [randomUUID(), randomUUID()];
  const writes = [receipts.record(a, 1), rejection(receipts.record("no uuid", 2)), receipts.record(b, 3)] as const;
  expect(await Promise.all(writes)).toMatchObject([undefined, { code: "22P02" }, undefined]);
  expect(await Promise.all([receipts.find(a), rejection(receipts.find("no uuid")), receipts.find(b)])).toMatchObject([
    { result: 1 },
    { code: "22P02" },
    { result: 3 },
  ]);
});

// The limit of a single statement is 10 s: within the time given here, only the group's own limit can free the others.
test(
  "a receipt that waits for a lock elsewhere holds up no other one, and is written when the lock is gone",
  { timeout: 8_000 },
  async () => {
    const db = await openDatabase();
    const receipts = createGroupedReceipts(db.pool)(scope);
    const held = randomUUID();
    const other = await db.pool.connect();
    onTestFinished(() => other.release());
    await other.query("BEGIN");
    await createReceiptAuthority(other, scope).record(held, "of another delivery");
    let written = false;
    const waiting = receipts.record(held, "ours").then(() => (written = true));
    await Promise.all(Array.from({ length: 20 }, (_, index) => receipts.record(randomUUID(), index)));
    expect(written).toBe(false);
    await waitFor(
      async () =>
        (await rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)).length,
      {
        what: "the held receipt to wait alone",
      },
    );
    await other.query("ROLLBACK");
    await waiting;
    expect(await receipts.find(held)).toEqual({ result: "ours" });
  },
);

test("a group's short lock limit ends with its statement", async () => {
  const db = await openDatabase({ poolMax: 1 });
  const receipts = createGroupedReceipts(db.pool)(scope);
  await Promise.all([receipts.record(randomUUID(), 1), receipts.record(randomUUID(), 2)]);
  expect(await rowsOf(db, "SHOW lock_timeout")).toEqual([{ lock_timeout: "10s" }]);
});

test("when the database refuses every statement, each call is told so, and none is asked again", async () => {
  const db = await openDatabase();
  let statements = 0;
  const away: Queryable = {
    query: () => {
      statements += 1;
      return Promise.reject(Object.assign(new Error("terminating connection due to administrator command"), { code: "57P01" }));
    },
  };
  const receipts = createGroupedReceipts(away)(scope);
  const errors = await Promise.all([rejection(receipts.record(randomUUID(), 1)), rejection(receipts.record(randomUUID(), 2))]);
  expect(errors.map((error) => error.code)).toEqual(["57P01", "57P01"]);
  expect(statements).toBe(1);
  expect(await rowsOf(db, `SELECT 1 FROM "OutboxReceipt"`)).toEqual([]);
});
