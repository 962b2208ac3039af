import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { withOutboxReceipt } from "../src/outbox-receiver.ts";
import { outboxTransactionOf, type OutboxTransaction } from "../src/outbox.ts";
import { createReceiptAuthority, listReceipts, recordDead } from "../src/receipts.ts";
import type { Queryable } from "../src/sql.ts";
import { gate, openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const eventId = "0190a0a0-0000-7000-8000-000000000001";
const scope = { tenantId: TENANT, consumer: "audit-append", effectEpoch: 0 };
const RECEIPTS = `SELECT "outcome", "result", "effectEpoch" FROM "OutboxReceipt" ORDER BY "effectEpoch"`;
const effect = async (tx: OutboxTransaction): Promise<number> =>
  tx.$executeRawUnsafe(`INSERT INTO "IdempotencyKey" VALUES (gen_random_uuid()::text, '', now())`);
const EFFECTS = `SELECT count(*)::int AS "n" FROM "IdempotencyKey"`;

test("receipt and effect commit together, and a second delivery gets the recorded result", async () => {
  const db = await openDatabase();
  const deliver = () =>
    db.prisma.$transaction((tx) =>
      withOutboxReceipt(tx, { ...scope, eventId }, async () => {
        await effect(tx);
        return { sequence: 7 };
      }),
    );
  expect(await deliver()).toEqual({ duplicate: false, result: { sequence: 7 } });
  expect(await deliver()).toEqual({ duplicate: true, result: { sequence: 7 } });
  expect(await rowsOf(db, EFFECTS)).toEqual([{ n: 1 }]);
  expect(await rowsOf(db, RECEIPTS)).toEqual([{ outcome: "done", result: { sequence: 7 }, effectEpoch: 0 }]);
});

test.each([undefined, null, 0, "", false, [1, null], { a: {} }].map((result) => ({ result })))(
  "a handler's $result comes back as it was",
  async ({ result }) => {
    const db = await openDatabase();
    const deliver = () => db.prisma.$transaction((tx) => withOutboxReceipt(tx, { ...scope, eventId }, () => Promise.resolve(result)));
    expect(await deliver()).toEqual({ duplicate: false, result });
    expect(await deliver()).toEqual({ duplicate: true, result });
    expect(await createReceiptAuthority(db.pool, scope).find(eventId)).toEqual({ result });
  },
);

test("a result that cannot be stored does not undo the effect, nor make it run again", async () => {
  const db = await openDatabase();
  const deliver = () => db.prisma.$transaction((tx) => withOutboxReceipt(tx, { ...scope, eventId }, () => effect(tx).then(() => 1n)));
  expect(await deliver()).toEqual({ duplicate: false, result: 1n });
  expect(await deliver()).toEqual({ duplicate: true, result: undefined });
  expect(await rowsOf(db, EFFECTS)).toEqual([{ n: 1 }]);
  expect((await listReceipts(db.pool, eventId))[0]?.detail).toMatch(/^result not stored: .*bigint/);
});

test("a handler that throws leaves no receipt, also when its caller swallows the error", async () => {
  const db = await openDatabase();
  const failure = new Error("not now");
  const deliver = (swallow: boolean) =>
    db.prisma.$transaction(async (tx) => {
      const attempt = withOutboxReceipt(tx, { ...scope, eventId }, () => Promise.reject(failure));
      if (!swallow) return attempt;
      return attempt.catch(() => "swallowed");
    });
  expect(await rejection(deliver(false))).toBe(failure);
  expect(await deliver(true)).toBe("swallowed");
  expect(await rowsOf(db, RECEIPTS)).toEqual([]);
});

test("of 10 deliveries at once the effect happens once, and the others wait and get its result", async () => {
  const db = await openDatabase({ poolMax: 10 });
  const results = await Promise.all(
    Array.from({ length: 10 }, () => db.prisma.$transaction((tx) => withOutboxReceipt(tx, { ...scope, eventId }, () => effect(tx)))),
  );
  expect(results.filter((result) => !result.duplicate)).toHaveLength(1);
  expect(results.map((result) => result.result)).toEqual(Array.from({ length: 10 }, () => 1));
  expect(await rowsOf(db, EFFECTS)).toEqual([{ n: 1 }]);
});

test("a delivery that waited takes over when the first rolls back", async () => {
  const db = await openDatabase();
  const running = gate();
  const end = gate();
  const first = db.prisma.$transaction((tx) =>
    withOutboxReceipt(tx, { ...scope, eventId }, async () => {
      await effect(tx);
      running.open();
      await end.opened;
      throw new Error("died");
    }),
  );
  await running.opened;
  const second = db.prisma.$transaction((tx) => withOutboxReceipt(tx, { ...scope, eventId }, () => effect(tx)));
  await waitFor(
    () =>
      rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).then((r) => r.length),
    { what: "the second delivery to wait" },
  );
  end.open();
  await rejection(first);
  expect(await second).toEqual({ duplicate: false, result: 1 });
  expect(await rowsOf(db, EFFECTS)).toEqual([{ n: 1 }]);
});

test("a replayed consumer runs once more per epoch, all others stay suppressed by a receipt of any epoch", async () => {
  const db = await openDatabase();
  const deliver = (effectEpoch: number, anyEpoch = false) =>
    db.prisma.$transaction((tx) => withOutboxReceipt(tx, { ...scope, effectEpoch, anyEpoch, eventId }, () => effect(tx)));
  await deliver(1);
  expect(await deliver(0, true)).toMatchObject({ duplicate: true });
  expect(await deliver(1)).toMatchObject({ duplicate: true });
  expect(await deliver(2)).toMatchObject({ duplicate: false });
  expect(await rowsOf(db, EFFECTS)).toEqual([{ n: 2 }]);
  const find = (effectEpoch: number, anyEpoch: boolean) =>
    createReceiptAuthority(db.pool, { ...scope, effectEpoch, anyEpoch }).find(eventId);
  expect(await Promise.all([find(0, true), find(0, false), find(2, false)])).toEqual([{ result: 1 }, null, { result: 1 }]);
});

test("a dead receipt suppresses nothing, gives way to a done one, and never replaces one", async () => {
  const db = await openDatabase();
  const authority = createReceiptAuthority(db.pool, scope);
  await recordDead(db.pool, { ...scope, generation: 0, eventId, error: new Error("550 no such user\u0000") });
  expect(await authority.find(eventId)).toBeNull();
  expect((await listReceipts(db.pool, eventId))[0]).toMatchObject({ outcome: "dead", detail: "Error: 550 no such user\uFFFD" });
  const delivered = await db.prisma.$transaction((tx) => withOutboxReceipt(tx, { ...scope, eventId }, () => effect(tx)));
  expect(delivered.duplicate).toBe(false);
  await recordDead(db.pool, { ...scope, generation: 0, eventId, error: "late" });
  expect(await listReceipts(db.pool, eventId)).toMatchObject([{ outcome: "done", result: 1, detail: null }]);

  const other = createReceiptAuthority(db.pool, { ...scope, consumer: "mail-render" });
  await recordDead(db.pool, { ...scope, generation: 2, consumer: "mail-render", eventId, error: "x" });
  await recordDead(db.pool, { ...scope, generation: 1, consumer: "mail-render", eventId, error: "y" });
  // The older job's death takes nothing back: that of the newer one is known.
  expect(await rowsOf(db, `SELECT "generation", "detail" FROM "OutboxReceipt" WHERE "consumer" = 'mail-render'`)).toEqual([
    { generation: 2, detail: "y" },
  ]);
  await other.record(eventId, { first: true });
  await other.record(eventId, { second: true });
  expect(await other.find(eventId)).toEqual({ result: { first: true } });
});

test("the root client, a pool, and a client that is in no transaction are refused for a receipt too", async () => {
  const db = await openDatabase();
  const pool: Queryable = db.pool;
  const client = await db.pool.connect();
  const refused = [() => db.prisma as unknown as OutboxTransaction, () => outboxTransactionOf(pool), () => outboxTransactionOf(client)];
  for (const tx of refused) {
    const attempt = (async () => withOutboxReceipt(tx(), { ...scope, eventId }, () => Promise.resolve(1)))();
    expect(await rejection(attempt)).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
  }
  client.release();
});
