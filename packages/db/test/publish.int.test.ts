import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { transaction, type Prisma } from "../src/client.ts";
import {
  outboxTransactionOf,
  publishOutboxEvent,
  publishOutboxEvents,
  type OutboxEventInput,
  type OutboxTransaction,
} from "../src/outbox.ts";
import type { Queryable } from "../src/sql.ts";
import { gate, openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const EVENTS = `SELECT "id", "payload", "dispatchKey", "status" FROM "OutboxEvent" ORDER BY "position"`;
const business = (tx: Prisma.TransactionClient, key: string) =>
  tx.idempotencyKey.create({ data: { key, value: "v", expiresAt: new Date(0) } });
const order = (extra: Partial<OutboxEventInput> = {}): OutboxEventInput => ({
  tenantId: TENANT,
  type: "shop.order.place",
  payload: { n: 1 },
  ...extra,
});

test("an event exists if and only if its transaction commits", async () => {
  const db = await openDatabase();
  const failure = new Error("the business said no");
  const failed = db.prisma.$transaction(async (tx) => {
    await business(tx, "lost");
    await publishOutboxEvent(tx, order());
    throw failure;
  });
  expect(await rejection(failed)).toBe(failure);
  expect(await rowsOf(db, EVENTS)).toEqual([]);

  const { id, duplicate } = await db.prisma.$transaction((tx) => publishOutboxEvent(tx, order()));
  expect(duplicate).toBe(false);
  expect(await rowsOf(db, EVENTS)).toEqual([{ id, payload: { n: 1 }, dispatchKey: null, status: "PENDING" }]);
});

test("a second publish with the same dispatch key returns the first event and stores nothing", async () => {
  const db = await openDatabase();
  const publish = (n: number, tenantId = TENANT) =>
    db.prisma.$transaction((tx) => publishOutboxEvent(tx, order({ tenantId, payload: { n }, dispatchKey: "stripe:1" })));
  const first = await publish(1);
  expect(await publish(2)).toEqual({ id: first.id, duplicate: true });
  expect(await rowsOf(db, EVENTS)).toEqual([{ id: first.id, payload: { n: 1 }, dispatchKey: "stripe:1", status: "PENDING" }]);
  expect(await publish(3, "tenant-b")).toMatchObject({ duplicate: false });
});

test("a duplicate dispatch key leaves the transaction usable and its other writes committed", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction((tx) => publishOutboxEvent(tx, order({ dispatchKey: "k" })));
  await db.prisma.$transaction(async (tx) => {
    await business(tx, "lead");
    expect(await publishOutboxEvent(tx, order({ dispatchKey: "k" }))).toMatchObject({ duplicate: true });
  });
  expect(await rowsOf(db, `SELECT "key" FROM "IdempotencyKey"`)).toEqual([{ key: "lead" }]);
  expect(await rowsOf(db, EVENTS)).toHaveLength(1);
});

test("20 publishers of one dispatch key at once write one event and all learn its id", async () => {
  const db = await openDatabase({ poolMax: 20 });
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      db.prisma.$transaction(async (tx) => {
        await business(tx, `row-${n}`);
        return publishOutboxEvent(tx, order({ payload: { n }, dispatchKey: "once" }));
      }),
    ),
  );
  const [row] = await rowsOf(db, EVENTS);
  expect(new Set(results.map((result) => result.id))).toEqual(new Set([row?.["id"]]));
  expect(results.filter((result) => !result.duplicate)).toHaveLength(1);
  expect(await rowsOf(db, `SELECT count(*)::int AS "rows" FROM "IdempotencyKey"`)).toEqual([{ rows: 20 }]);
});

test("a publisher that waits for a rival's dispatch key takes it over when the rival rolls back", async () => {
  const db = await openDatabase();
  const written = gate();
  const end = gate();
  const rival = db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, order({ payload: { n: 1 }, dispatchKey: "k" }));
    written.open();
    await end.opened;
    throw new Error("rolled back");
  });
  await written.opened;
  const waiting = db.prisma.$transaction((tx) => publishOutboxEvent(tx, order({ payload: { n: 2 }, dispatchKey: "k" })));
  await waitFor(
    () =>
      rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).then((r) => r.length),
    { what: "the second publisher to wait" },
  );
  end.open();
  await rejection(rival);
  expect(await waiting).toMatchObject({ duplicate: false });
  expect(await rowsOf(db, EVENTS)).toMatchObject([{ payload: { n: 2 } }]);
});

test("an existing event that is deleted between the two statements is written anew", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction((tx) => publishOutboxEvent(tx, order({ payload: { n: 1 }, dispatchKey: "k" })));
  const result = await db.prisma.$transaction((tx) => {
    let deleted = false;
    const beforeSelect: OutboxTransaction = {
      $executeRawUnsafe: (sql, ...values) => tx.$executeRawUnsafe(sql, ...values),
      $queryRawUnsafe: async <T>(sql: string, ...values: unknown[]): Promise<T> => {
        if (!deleted) await db.pool.query(`DELETE FROM "OutboxEvent"`);
        deleted = true;
        return tx.$queryRawUnsafe<T>(sql, ...values);
      },
    };
    return publishOutboxEvent(beforeSelect, order({ payload: { n: 2 }, dispatchKey: "k" }));
  });
  expect(result.duplicate).toBe(false);
  expect(await rowsOf(db, EVENTS)).toMatchObject([{ id: result.id, payload: { n: 2 } }]);
});

test("the root client is refused at run time, before any SQL", async () => {
  const db = await openDatabase();
  const root = db.prisma as unknown as OutboxTransaction;
  const extended = db.prisma.$extends({}) as unknown as OutboxTransaction;
  const nothing = undefined as unknown as OutboxTransaction;
  const rawClient = { query: () => Promise.resolve() } as unknown as OutboxTransaction;
  for (const client of [root, extended, nothing, rawClient]) {
    expect(await rejection(publishOutboxEvent(client, order()))).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
    expect(await rejection(publishOutboxEvents(client, [order()]))).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
  }
  expect(await rowsOf(db, EVENTS)).toEqual([]);
});

test("a pool, and a client that is in no transaction, are refused for raw SQL too: the event would commit alone", async () => {
  const db = await openDatabase();
  const pool: Queryable = db.pool;
  const refused = async (work: () => Promise<unknown>) => expect(await rejection(work())).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
  await refused(() => transaction(db.pool, async () => publishOutboxEvent(outboxTransactionOf(pool), order())));
  const client = await db.pool.connect();
  const tx = outboxTransactionOf(client);
  await refused(() => publishOutboxEvent(tx, order()));
  await client.query("BEGIN");
  const event = await publishOutboxEvent(tx, order());
  await client.query("COMMIT");
  await refused(() => publishOutboxEvents(tx, [order()]));
  client.release();
  expect(await rowsOf(db, EVENTS)).toMatchObject([{ id: event.id }]);
});

test("what a raw transaction did not wait for is refused after its end: the event would commit alone, or in another's", async () => {
  const db = await openDatabase();
  const end = gate();
  const late: Array<Promise<unknown>> = [];
  const failure = new Error("the business said no");
  const failed = transaction(db.pool, async (tx) => {
    late.push(rejection(end.opened.then(() => publishOutboxEvent(outboxTransactionOf(tx), order()))));
    await tx.query("SELECT 1");
    throw failure;
  });
  expect(await rejection(failed)).toBe(failure);
  end.open();
  expect(await Promise.all(late)).toMatchObject([{ code: "DB.TRANSACTION_ENDED" }]);
  expect(await rowsOf(db, EVENTS)).toEqual([]);
});

test("a payload with U+0000 is refused before any SQL, and the transaction goes on", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction(async (tx) => {
    for (const payload of [{ a: { b: ["x\u0000y"] } }, { "k\u0000": 1 }]) {
      expect(await rejection(publishOutboxEvent(tx, order({ payload })))).toMatchObject({ code: "PUBLISH.PAYLOAD_NOT_JSON" });
    }
    await business(tx, "other work");
  });
  expect(await rowsOf(db, `SELECT "key" FROM "IdempotencyKey"`)).toEqual([{ key: "other work" }]);
});

test("an event that commits late is found by its status, though younger events are done", async () => {
  const db = await openDatabase();
  const written = gate();
  const end = gate();
  const late = db.prisma.$transaction(async (tx) => {
    const event = await publishOutboxEvent(tx, order({ payload: { n: 1 } }));
    written.open();
    await end.opened;
    return event;
  });
  await written.opened;
  const early = await db.prisma.$transaction((tx) => publishOutboxEvent(tx, order({ payload: { n: 2 } })));
  const due = `SELECT "id" FROM "OutboxEvent" WHERE "status" = 'PENDING' AND "scheduledAt" <= (SELECT clock_timestamp())
    ORDER BY "scheduledAt", "position"`;
  expect(await rowsOf(db, due)).toEqual([{ id: early.id }]);
  await db.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'DONE', "blocksLine" = false, "processedAt" = clock_timestamp() WHERE "id" = $1`,
    [early.id],
  );
  end.open();
  const { id } = await late;
  expect(await rowsOf(db, due)).toEqual([{ id }]);
  expect(await rowsOf(db, `SELECT "id" FROM "OutboxEvent" ORDER BY "position"`)).toEqual([{ id }, { id: early.id }]);
});

test("a prepared publish survives a migration that adds a column", async () => {
  const db = await openDatabase({ poolMax: 1 });
  const publish = () => db.prisma.$transaction((tx) => publishOutboxEvent(tx, order()));
  await publish();
  expect(await rowsOf(db, `SELECT "name" FROM pg_prepared_statements`)).toEqual([{ name: "toolctrl_publish_plain_unlocked" }]);
  await db.pool.query(`ALTER TABLE "OutboxEvent" ADD COLUMN "laterColumn" TEXT`);
  await publish();
  expect(await rowsOf(db, EVENTS)).toHaveLength(2);
});

test("a past scheduledAt counts as now, and a future one is kept to the millisecond", async () => {
  const db = await openDatabase();
  const future = new Date(Date.now() + 3_600_000);
  await db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, order({ scheduledAt: new Date("1999-01-01T00:00:00Z") }));
    await publishOutboxEvent(tx, order({ scheduledAt: future }));
    await publishOutboxEvents(tx, [order({ scheduledAt: new Date("1999-01-01T00:00:00Z") }), order({ scheduledAt: future })]);
  });
  const rows = await rowsOf(
    db,
    `SELECT "scheduledAt" < "createdAt" - interval '1 minute' AS "early", extract(epoch FROM "scheduledAt")::float8 AS "at"
     FROM "OutboxEvent" ORDER BY "position"`,
  );
  expect(rows.map((row) => row["early"])).toEqual([false, false, false, false]);
  expect([rows[1]?.["at"], rows[3]?.["at"]]).toEqual([future.getTime() / 1000, future.getTime() / 1000]);
});

test("the trace, causation and depth of an event are stored, and a malformed trace is left out", async () => {
  const db = await openDatabase();
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, order({ correlationId: "c", causationId: "e", depth: 3, traceparent, tracestate: "a=b" }));
    await publishOutboxEvent(tx, order({ traceparent: "nonsense", tracestate: "a=b" }));
  });
  expect(
    await rowsOf(db, `SELECT "correlationId", "causationId", "depth", "traceparent", "tracestate" FROM "OutboxEvent" ORDER BY "position"`),
  ).toEqual([
    { correlationId: "c", causationId: "e", depth: 3, traceparent, tracestate: "a=b" },
    { correlationId: null, causationId: null, depth: 0, traceparent: null, tracestate: null },
  ]);
});
