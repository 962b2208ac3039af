import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import type { Database, Prisma } from "../src/client.ts";
import { publishOutboxEvent, publishOutboxEvents, type OutboxEventInput } from "../src/outbox.ts";
import { gate, openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const about = (recordId: string, extra: Partial<OutboxEventInput> = {}): OutboxEventInput => ({
  tenantId: TENANT,
  type: "shop.lead.updated",
  ...extra,
  payload: { object: "Lead", recordId, ...(extra.payload as object | undefined) },
});

/** A "record" of these tests; the row that a writer locks. */
const write = (tx: Prisma.TransactionClient, key: string) =>
  tx.$executeRaw`UPDATE "IdempotencyKey" SET "value" = "value" || 'x' WHERE "key" = ${key}`;

async function records(db: Database, ...keys: string[]): Promise<void> {
  await db.prisma.idempotencyKey.createMany({ data: keys.map((key) => ({ key, value: "", expiresAt: new Date(0) })) });
}

const waiting = (db: Database, count: number) =>
  waitFor(
    async () =>
      (await rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)).length === count,
    { what: `${count} sessions to wait for a lock` },
  );

const lineLocks = async (tx: Prisma.TransactionClient): Promise<number> => {
  const sql = `SELECT count(*)::int AS "locks" FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`;
  return (await tx.$queryRawUnsafe<Array<{ locks: number }>>(sql))[0]?.locks ?? -1;
};

test("an event has the key of its record, one given for it, or its own id, alone and in a list", async () => {
  const db = await openDatabase();
  const lone = { tenantId: TENANT, type: "shop.order.place", payload: { n: 1 } };
  const events = [about("7"), { ...lone, recordKey: "Order/1" }, lone, about("7", { recordKey: "Lead/7", correlationId: "c" })];
  const results = await db.prisma.$transaction(async (tx) => {
    const singles = [];
    for (const event of events) singles.push(await publishOutboxEvent(tx, event));
    return [...singles, ...(await publishOutboxEvents(tx, events))];
  });
  const keys = (await rowsOf(db, `SELECT "recordKey" FROM "OutboxEvent" ORDER BY "position"`)).map((row) => row["recordKey"]);
  expect(keys).toEqual([0, 4].flatMap((at) => ["Lead/7", "Order/1", results[at + 2]?.id, "Lead/7"]));
});

test("a key that is not the one of the payload is refused before any SQL, and so is a future time for an event of a record", async () => {
  const db = await openDatabase();
  const future = new Date(Date.now() + 3_600_000);
  await db.prisma.$transaction(async (tx) => {
    const refused = await rejection(publishOutboxEvent(tx, about("7", { recordKey: "Lead/8" })));
    expect(refused).toMatchObject({ code: "PUBLISH.ARGUMENT", facts: { field: "recordKey", got: `"Lead/8"` } });
    expect(refused.message).toContain(`expected recordKey to be absent or "Lead/7"`);
    expect(await rejection(publishOutboxEvents(tx, [about("7"), about("7", { scheduledAt: future })]))).toMatchObject({
      code: "PUBLISH.ARGUMENT",
      facts: { field: "scheduledAt", index: 1 },
    });
    await publishOutboxEvent(tx, about("7"));
  });
  expect(await rowsOf(db, `SELECT "recordKey" FROM "OutboxEvent"`)).toEqual([{ recordKey: "Lead/7" }]);
});

test("publish, then write: the inversion that would misorder a record's events is a deadlock error, never a silent success", async () => {
  const db = await openDatabase();
  await records(db, "7");
  const published = gate();
  const rivalWrote = gate();
  const wrongOrder = db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, about("7", { payload: { by: "wrong" } }));
    published.open();
    await rivalWrote.opened;
    await write(tx, "7");
  });
  const rightOrder = (async () => {
    await published.opened;
    return db.prisma.$transaction(async (tx) => {
      await write(tx, "7");
      rivalWrote.open();
      await publishOutboxEvent(tx, about("7", { payload: { by: "right" } }));
    });
  })();
  const outcomes = await Promise.allSettled([wrongOrder, rightOrder]);
  const failed = outcomes.filter((outcome) => outcome.status === "rejected");
  expect(failed).toHaveLength(1);
  expect(JSON.stringify(failed[0]?.reason)).toContain("40P01");
  // One of the two is whole, the other left nothing: no event stands in the wrong place.
  expect(await rowsOf(db, `SELECT 1 FROM "OutboxEvent"`)).toHaveLength(1);
  expect(await rowsOf(db, `SELECT "value" FROM "IdempotencyKey"`)).toEqual([{ value: "x" }]);
});

test("lock, then publish: the positions of 20 writers' events are the order of their writes", async () => {
  const db = await openDatabase({ poolMax: 20 });
  await records(db, "0", "1", "2");
  await Promise.all(
    Array.from({ length: 20 }, async (_, writer) => {
      for (let turn = 0; turn < 6; turn += 1) {
        const key = String((writer + turn) % 3);
        await db.prisma.$transaction(
          async (tx) => {
            await write(tx, key);
            const [row] = await tx.$queryRaw<
              Array<{ n: number }>
            >`SELECT length("value") AS "n" FROM "IdempotencyKey" WHERE "key" = ${key}`;
            await publishOutboxEvent(tx, about(key, { payload: { n: row?.n ?? -1 } }));
          },
          { maxWait: 30_000, timeout: 30_000 },
        );
      }
    }),
  );
  for (const key of ["0", "1", "2"]) {
    const rows = await rowsOf(db, `SELECT ("payload" ->> 'n')::int AS "n" FROM "OutboxEvent" WHERE "recordKey" = $1 ORDER BY "position"`, [
      `Lead/${key}`,
    ]);
    expect(rows.map((row) => row["n"])).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  }
});

test.each(["one", "many"])("the position of a publisher that waited for the line is drawn after the wait (%s)", async (how) => {
  const db = await openDatabase();
  const published = gate();
  const end = gate();
  const first = db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, about("7", { payload: { n: 1 } }));
    published.open();
    await end.opened;
    await publishOutboxEvent(tx, about("7", { payload: { n: 2 } }));
  });
  await published.opened;
  const late = about("7", { payload: { n: 3 } });
  const second = db.prisma.$transaction(async (tx) => {
    if (how === "one") await publishOutboxEvent(tx, late);
    else await publishOutboxEvents(tx, [late, about("8")]);
  });
  await waiting(db, 1);
  end.open();
  await Promise.all([first, second]);
  const rows = await rowsOf(db, `SELECT "payload" -> 'n' AS "n" FROM "OutboxEvent" WHERE "recordKey" = 'Lead/7' ORDER BY "position"`);
  expect(rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test("lists that name the same records in opposite orders wait for each other and never deadlock", async () => {
  const db = await openDatabase({ poolMax: 8 });
  const events = Array.from({ length: 30 }, (_, n) => about(String(n)));
  await Promise.all(
    Array.from({ length: 40 }, (_, turn) =>
      db.prisma.$transaction((tx) => publishOutboxEvents(tx, turn % 2 === 0 ? events : events.toReversed()), { maxWait: 30_000 }),
    ),
  );
  expect(await rowsOf(db, `SELECT count(*)::int AS "rows" FROM "OutboxEvent"`)).toEqual([{ rows: 1_200 }]);
});

test("a transaction holds at most 32 locks of lines, however much it publishes, and none for events of no record", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, { tenantId: TENANT, type: "shop.order.place", payload: {} });
    await publishOutboxEvents(tx, [{ tenantId: TENANT, type: "shop.order.place", payload: {} }]);
    expect(await lineLocks(tx)).toBe(0);
    await publishOutboxEvent(tx, about("first"));
    await publishOutboxEvent(tx, about("first"));
    expect(await lineLocks(tx)).toBe(1);
    await publishOutboxEvents(
      tx,
      Array.from({ length: 1_000 }, (_, n) => about(String(n))),
    );
    expect(await lineLocks(tx)).toBe(32);
    await publishOutboxEvent(tx, about("last"));
    expect(await lineLocks(tx)).toBe(32);
  });
  expect(await rowsOf(db, `SELECT count(*)::int AS "rows" FROM "OutboxEvent" WHERE "recordKey" LIKE 'Lead/%'`)).toEqual([{ rows: 1_003 }]);
});

test("a line that a savepoint gave back is locked again by the next publish", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe("SAVEPOINT s");
    await publishOutboxEvent(tx, about("7"));
    await tx.$executeRawUnsafe("ROLLBACK TO SAVEPOINT s");
    expect(await lineLocks(tx)).toBe(0);
    await publishOutboxEvent(tx, about("7"));
    expect(await lineLocks(tx)).toBe(1);
  });
});

test("publishers of other records and of other tenants do not wait for a line", async () => {
  const db = await openDatabase();
  const impatient = (event: OutboxEventInput) =>
    db.prisma.$transaction(async (tx) => {
      await tx.$executeRawUnsafe("SET LOCAL lock_timeout = '100ms'");
      return publishOutboxEvent(tx, event);
    });
  await db.prisma.$transaction(async (tx) => {
    await publishOutboxEvent(tx, about("7"));
    for (const event of [about("8"), { ...about("7"), tenantId: "tenant-b" }]) {
      expect(await impatient(event)).toMatchObject({ duplicate: false });
    }
    expect(JSON.stringify(await rejection(impatient(about("7"))))).toContain("55P03");
  });
});
