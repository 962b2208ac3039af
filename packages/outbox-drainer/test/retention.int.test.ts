import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { ROUTES } from "@toolctrl/event-router/router";
import { describe, expect, test } from "vitest";
import { runRetention } from "../src/retention.ts";
import { claimDueEvents } from "../src/sql/claim-due-events.ts";
import { seedEvent, seedReceipt } from "./seed-event.ts";
import { insertEvents, openDatabase, silentLog, statuses } from "./support.ts";

const MONTH = { retentionHours: 720, batchSize: 1000 };

async function markDone(database: Database, ids: readonly string[], age: string): Promise<void> {
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'DONE', "blocksLine" = false, "processedAt" = clock_timestamp() - $2::interval WHERE "id" = ANY($1)`,
    [ids, age],
  );
}

async function writeReceipts(database: Database, ids: readonly string[], consumer: string, outcome = "done"): Promise<void> {
  await database.pool.query(
    `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") SELECT id, $2, 'acme', $3 FROM unnest($1::uuid[]) id`,
    [ids, consumer, outcome],
  );
}

describe("outbox-done-retention", () => {
  test("deletes old DONE events that have every receipt their route expects, and nothing else", async () => {
    const database = await openDatabase();
    const complete = await insertEvents(database, 3);
    const young = await insertEvents(database, 2);
    const halfway = await insertEvents(database, 4);
    const dead = await insertEvents(database, 1, { type: "audit.entry.record" });
    const pending = await insertEvents(database, 1);
    await markDone(database, [...complete, ...halfway, ...dead], "721 hours");
    await markDone(database, young, "719 hours");
    await writeReceipts(database, [...complete, ...young, ...halfway], "mail-render");
    await writeReceipts(database, [...complete, ...young], "email-send");
    await writeReceipts(database, dead, "audit-append", "dead");
    const report = await runRetention(database.pool, ROUTES, MONTH, silentLog);
    expect(report).toMatchObject({ deleted: 3, held: { "mail.": 4, "audit.": 1 }, capped: false });
    const { rows } = await database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" ORDER BY "position"`);
    expect(rows.map((row) => row.id)).toEqual([...young, ...halfway, ...dead, ...pending]);
  });

  test("keeps an event that is replayed until the replay has its receipt too; the other consumers' of any epoch count", async () => {
    const database = await openDatabase();
    const replayed = async (consumer: string, effectEpoch: number): Promise<string> => {
      const old = { status: "DONE", type: "mail.message.send", age: "721 hours" } as const;
      const id = await seedEvent(database.pool, { ...old, effectEpoch, replayConsumer: consumer });
      for (const each of ["mail-render", "email-send"]) await seedReceipt(database.pool, id, each);
      return id;
    };
    const [open, dead, finished, second] = [
      await replayed("email-send", 1),
      await replayed("email-send", 1),
      await replayed("email-send", 1),
      await replayed("mail-render", 2),
    ];
    await seedReceipt(database.pool, dead, "email-send", "dead", 1);
    await seedReceipt(database.pool, finished, "email-send", "done", 1);
    await seedReceipt(database.pool, second, "email-send", "done", 1);
    await seedReceipt(database.pool, second, "mail-render", "done", 2);
    expect(await runRetention(database.pool, ROUTES, MONTH, silentLog)).toMatchObject({ deleted: 2, held: { "mail.": 2 } });
    const { rows } = await database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" ORDER BY "position"`);
    expect(rows.map((row) => row.id)).toEqual([open, dead]);
  });

  test("held events at the head never stop the purge of those behind them", async () => {
    const database = await openDatabase();
    const held = await insertEvents(database, 30);
    const free = await insertEvents(database, 5, { type: "audit.entry.record" });
    await markDone(database, held, "900 hours");
    await markDone(database, free, "800 hours");
    await writeReceipts(database, free, "audit-append");
    expect(await runRetention(database.pool, ROUTES, { retentionHours: 720, batchSize: 4 }, silentLog)).toMatchObject({
      deleted: 5,
      held: { "mail.": 30 },
    });
  });

  test("an event that no route knows is held", async () => {
    const database = await openDatabase();
    const ids = await insertEvents(database, 1, { type: "retired.thing.happened" });
    await markDone(database, ids, "900 hours");
    expect(await runRetention(database.pool, ROUTES, MONTH, silentLog)).toMatchObject({ deleted: 0, held: { "(no route)": 1 } });
  });

  test("two hundred thousand old events go in bounded transactions up to a cap per run, while dispatching goes on; FAILED and PENDING stay", async () => {
    const database = await openDatabase();
    await database.pool.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "processedAt", "lastErrorCode")
       SELECT gen_random_uuid(), 'acme', 'audit.entry.record', '{}', CASE WHEN n % 1000 = 0 THEN 'FAILED' ELSE 'DONE' END::"OutboxStatus", false,
         CASE WHEN n % 1000 <> 0 THEN clock_timestamp() - interval '60 days' + n * interval '1 second' END, CASE WHEN n % 1000 = 0 THEN 'X' END
       FROM generate_series(1, 200000) n`,
    );
    await database.pool.query(
      `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") SELECT "id", 'audit-append', 'acme', 'done' FROM "OutboxEvent" WHERE "status" = 'DONE'`,
    );
    await insertEvents(database, 10);
    await database.pool.query(`ANALYZE "OutboxEvent"; ANALYZE "OutboxReceipt"`);
    const settings = { retentionHours: 720, batchSize: 500 };
    const purge = runRetention(database.pool, ROUTES, settings, silentLog);
    // A claim that had to wait for the purge would fail on the connection's lock timeout.
    const claim = await claimDueEvents(database.pool, { epoch: 1n, limit: 10, leaseMs: 60_000, lockToken: randomUUID(), afterTenant: "" });
    expect(claim.events).toHaveLength(10);
    expect(await purge).toMatchObject({ deleted: 100_000, held: {}, capped: true });
    expect(await runRetention(database.pool, ROUTES, settings, silentLog)).toMatchObject({ deleted: 99_800, capped: false });
    expect(await statuses(database)).toEqual({ FAILED: 200, PROCESSING: 10 });
  }, 180_000);

  test("the batch size is clamped to 1..10000", async () => {
    const database = await openDatabase();
    const ids = await insertEvents(database, 2, { type: "audit.entry.record" });
    await markDone(database, ids, "900 hours");
    await writeReceipts(database, ids, "audit-append");
    expect(await runRetention(database.pool, ROUTES, { retentionHours: 720, batchSize: 0 }, silentLog)).toMatchObject({ deleted: 2 });
  });

  test("receipts, intents and mails go when their event is gone and they are old; expired idempotency keys go, live ones stay", async () => {
    const database = await openDatabase();
    const [kept = ""] = await insertEvents(database, 1);
    const gone = randomUUID();
    for (const eventId of [kept, gone]) {
      await database.pool.query(
        `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome", "updatedAt") VALUES ($1, 'email-send', 'acme', 'done', clock_timestamp() - interval '40 days')`,
        [eventId],
      );
      await database.pool.query(
        `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "externalId", "updatedAt") VALUES (gen_random_uuid(), $1, 'acme', 'email-send', 'x', clock_timestamp() - interval '40 days')`,
        [eventId],
      );
      await database.pool.query(
        `INSERT INTO "EmailMessage" ("id", "eventId", "tenantId", "messageId", "fromAddress", "subject", "createdAt") VALUES (gen_random_uuid(), $1, 'acme', 'x', 'a@example.com', 's', clock_timestamp() - interval '40 days')`,
        [eventId],
      );
    }
    await database.pool.query(
      `INSERT INTO "IdempotencyKey" VALUES ('old', 'v', clock_timestamp() - interval '1 s'), ('live', 'v', clock_timestamp() + interval '1 h')`,
    );
    const report = await runRetention(database.pool, ROUTES, MONTH, silentLog);
    expect(report).toMatchObject({ orphans: { OutboxReceipt: 1, OutboxIntent: 1, EmailMessage: 1 }, idempotencyKeys: 1 });
  });
});
