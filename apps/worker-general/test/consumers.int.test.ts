import { randomUUID } from "node:crypto";
import type { Consumer, Delivery } from "@toolctrl/consumer/define";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import { withOutboxReceipt } from "@toolctrl/db/outbox-receiver";
import { recordDead } from "@toolctrl/db/receipts";
import { verifyAuditChain } from "@toolctrl/domain/audit";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAuditConsumer } from "../src/consumers/create-audit-consumer.ts";
import { createNotificationConsumer } from "../src/consumers/create-notification-consumer.ts";
import { deliveryOf, impatientPool, type DeliveryParts } from "./delivery-of.ts";

let database: Database;
let audit: Consumer;
let notification: Consumer;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  database = await createDatabase({ url, poolMax: 25, app: "consumer-test", wakeup: false });
  audit = createAuditConsumer({ pool: database.pool });
  notification = createNotificationConsumer({ pool: database.pool });
});

afterAll(() => database.close());

beforeEach(async () => {
  await database.pool.query(`TRUNCATE "OutboxReceipt", "Notification"`);
});

function delivery(options: Partial<DeliveryParts> = {}): Delivery {
  const payload = { actor: "ann", action: "lead.update", object: "Lead", recordId: "1" };
  return deliveryOf({ type: "audit.entry.record", payload, tenantId: `tenant-${randomUUID()}`, ...options });
}

async function entriesOf(tenantId: string): Promise<number> {
  const { rowCount } = await database.pool.query(`SELECT 1 FROM "AuditEntry" WHERE "tenantId" = $1`, [tenantId]);
  return rowCount ?? 0;
}

async function receiptsOf(
  eventId: string,
): Promise<Array<{ consumer: string; outcome: string; effectEpoch: number; detail: string | null }>> {
  const { rows } = await database.pool.query<{ consumer: string; outcome: string; effectEpoch: number; detail: string | null }>(
    `SELECT "consumer", "outcome", "effectEpoch", "detail" FROM "OutboxReceipt" WHERE "eventId" = $1 ORDER BY "effectEpoch"`,
    [eventId],
  );
  return rows;
}

/** Whether a statement that holds this text waits for a lock. */
async function someoneWaitsFor(text: string): Promise<boolean> {
  const { rows } = await database.pool.query<{ query: string }>(
    `SELECT "query" FROM pg_stat_activity WHERE "wait_event_type" = 'Lock' AND "datname" = current_database()`,
  );
  return rows.some((row) => row.query.includes(text));
}

describe("audit-append, with no claim before it", () => {
  test("writes one entry and one receipt for 20 deliveries of one event at once", async () => {
    const event = delivery();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => audit.handle(event)));
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ({ kind: "done" })));
    expect(await entriesOf(event.tenantId)).toBe(1);
    expect(await receiptsOf(event.eventId)).toEqual([{ consumer: "audit-append", outcome: "done", effectEpoch: 0, detail: null }]);
    expect(await verifyAuditChain(database.pool, event.tenantId)).toMatchObject({ ok: true, verified: 1 });
  });

  test("makes one gapless chain of 200 events at once, each delivered twice", async () => {
    const tenantId = `tenant-${randomUUID()}`;
    const events = Array.from({ length: 200 }, (_, index) =>
      delivery({ tenantId, payload: { actor: "ann", action: "step", object: "Lead", recordId: String(index) } }),
    );
    await Promise.all([...events, ...events].map((event) => audit.handle(event)));
    expect(await verifyAuditChain(database.pool, tenantId)).toMatchObject({ ok: true, verified: 200, headSequence: "200" });
    const { rows } = await database.pool.query(
      `SELECT min("sequence")::int AS min, max("sequence")::int AS max, count(*)::int AS n FROM "AuditEntry" WHERE "tenantId" = $1`,
      [tenantId],
    );
    expect(rows).toEqual([{ min: 1, max: 200, n: 200 }]);
  });

  test("waits in no tenant for the chain of another", async () => {
    const held = delivery();
    await audit.handle(held);
    await transaction(database.pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "AuditChain" WHERE "tenantId" = $1 FOR UPDATE`, [held.tenantId]);
      expect(await audit.handle(delivery())).toEqual({ kind: "done" });
    });
  });

  test("holds the head's lock for its own two statements only: a rival that has begun waits on the head, not on the receipt", async () => {
    const first = delivery();
    await audit.handle(first);
    const second = delivery({ tenantId: first.tenantId });
    let handled: Promise<unknown> = Promise.resolve();
    await transaction(database.pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "AuditChain" WHERE "tenantId" = $1 FOR UPDATE`, [first.tenantId]);
      handled = audit.handle(second);
      await waitFor(() => someoneWaitsFor(`FROM "AuditChain" c`), { what: "the append to wait for the head" });
      // Everything but the two statements on the chain is behind it.
      expect(await entriesOf(first.tenantId)).toBe(1);
    });
    expect(await handled).toEqual({ kind: "done" });
    expect(await verifyAuditChain(database.pool, first.tenantId)).toMatchObject({ ok: true, verified: 2 });
  });

  test("writes neither entry nor receipt when the append fails, and both when it is delivered again", async () => {
    const event = delivery();
    await database.pool.query(`ALTER TABLE "AuditEntry" ADD CONSTRAINT broken CHECK ("tenantId" <> '${event.tenantId}')`);
    await expect(audit.handle(event)).rejects.toThrow("broken");
    expect(await receiptsOf(event.eventId)).toEqual([]);
    await database.pool.query(`ALTER TABLE "AuditEntry" DROP CONSTRAINT broken`);
    expect(await audit.handle(event)).toEqual({ kind: "done" });
    expect(await verifyAuditChain(database.pool, event.tenantId)).toMatchObject({ ok: true, verified: 1 });
  });

  test("adds nothing for an event whose receipt has been cleaned away", async () => {
    const event = delivery();
    await audit.handle(event);
    await database.pool.query(`DELETE FROM "OutboxReceipt" WHERE "eventId" = $1`, [event.eventId]);
    expect(await audit.handle(event)).toEqual({ kind: "done" });
    expect(await entriesOf(event.tenantId)).toBe(1);
  });

  test("snoozes, using no attempt, when somebody holds the head longer than the lock time-out", async () => {
    const event = delivery();
    await audit.handle(event);
    const { pool } = database;
    const impatient = createAuditConsumer({ pool: impatientPool(pool) });
    await transaction(pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "AuditChain" WHERE "tenantId" = $1 FOR UPDATE`, [event.tenantId]);
      expect(await impatient.handle(delivery({ tenantId: event.tenantId }))).toEqual({ kind: "snooze", untilMs: expect.any(Number) });
    });
  });
});

describe("notification-create, with no claim before it", () => {
  test("writes one row for 20 deliveries at once", async () => {
    const event = delivery({ type: "billing.subscription.updated", payload: { subscriptionId: "s1" } });
    await Promise.all(Array.from({ length: 20 }, () => notification.handle(event)));
    const { rows } = await database.pool.query(`SELECT "title", "eventType", "tenantId" FROM "Notification" WHERE "eventId" = $1`, [
      event.eventId,
    ]);
    expect(rows).toEqual([{ title: "Billing subscription updated", eventType: "billing.subscription.updated", tenantId: event.tenantId }]);
  });

  test("gives up at once on an explicit notification it cannot use", async () => {
    const event = delivery({ type: "notification.message.create", payload: { title: 1 } });
    await expect(notification.handle(event)).rejects.toMatchObject({ code: "RECEIVER.PAYLOAD", retry: false });
    expect(await receiptsOf(event.eventId)).toEqual([]);
  });

  test("replaces the receipt that says it gave up when a requeued delivery succeeds", async () => {
    const event = delivery({ type: "billing.invoice.paid", payload: {} });
    await recordDead(database.pool, {
      eventId: event.eventId,
      tenantId: event.tenantId,
      consumer: "notification-create",
      effectEpoch: 0,
      generation: 0,
      error: "gone",
    });
    await notification.handle(event);
    expect(await receiptsOf(event.eventId)).toEqual([{ consumer: "notification-create", outcome: "done", effectEpoch: 0, detail: null }]);
  });

  test("repeats its row once per replay of itself, and not at all when another consumer is replayed", async () => {
    const base = { eventId: randomUUID(), tenantId: "acme", type: "billing.invoice.paid", payload: {} };
    const count = async (): Promise<number> =>
      (await database.pool.query(`SELECT 1 FROM "Notification" WHERE "eventId" = $1`, [base.eventId])).rowCount ?? 0;
    await notification.handle(delivery(base));
    const replay = delivery({ ...base, effectEpoch: 1, replayConsumer: "notification-create" });
    await Promise.all([notification.handle(replay), notification.handle(replay)]);
    expect(await count()).toBe(2);
    await notification.handle(delivery({ ...base, effectEpoch: 0, replayConsumer: "somebody-else" }));
    expect(await count()).toBe(2);
  });

  test("is suppressed by its receipt of a later epoch when it is not the one replayed", async () => {
    const base = { eventId: randomUUID(), tenantId: "acme", type: "billing.invoice.paid", payload: {} };
    await notification.handle(delivery({ ...base, effectEpoch: 1, replayConsumer: "notification-create" }));
    await notification.handle(delivery({ ...base, effectEpoch: 0, replayConsumer: "somebody-else" }));
    expect(await receiptsOf(base.eventId)).toMatchObject([{ effectEpoch: 1 }]);
  });
});

describe("the receipt in the transaction of its effect", () => {
  const scopeOf = ({ eventId, tenantId, effectEpoch, envelope }: Delivery) => {
    const anyEpoch = envelope.replayConsumer !== "test-consumer";
    return { eventId, tenantId, consumer: "test-consumer", effectEpoch, anyEpoch };
  };

  // An effect without a natural key: nothing but the receipt can hold a second one back.
  async function effect(event: Delivery, before: () => Promise<void> = async () => undefined): Promise<{ duplicate: boolean }> {
    return transaction(database.pool, (tx) =>
      withOutboxReceipt(outboxTransactionOf(tx), scopeOf(event), async () => {
        await tx.query(
          `INSERT INTO "IdempotencyKey" ("key", "value", "expiresAt") VALUES (gen_random_uuid()::text, $1, clock_timestamp())`,
          [event.eventId],
        );
        await before();
      }),
    );
  }

  async function effectsOf(eventId: string): Promise<number> {
    return (await database.pool.query(`SELECT 1 FROM "IdempotencyKey" WHERE "value" = $1`, [eventId])).rowCount ?? 0;
  }

  test("lets one of 20 deliveries at once have its effect, and tells the others that they are duplicates", async () => {
    const event = delivery();
    const results = await Promise.all(Array.from({ length: 20 }, () => effect(event)));
    expect(results.filter((result) => result.duplicate)).toHaveLength(19);
    expect(await effectsOf(event.eventId)).toBe(1);
    expect(await effect(event)).toEqual({ duplicate: true });
    expect(await effectsOf(event.eventId)).toBe(1);
  });

  test("is taken back with an effect that fails, and the delivery that waited for it has the effect", async () => {
    const event = delivery();
    let rival: Promise<{ duplicate: boolean }> | undefined;
    const first = effect(event, async () => {
      rival = effect(event);
      await waitFor(() => someoneWaitsFor(`INSERT INTO "OutboxReceipt"`), { what: "the rival to wait for the receipt" });
      throw new Error("the effect failed");
    });
    await expect(first).rejects.toThrow("the effect failed");
    expect(await rival).toEqual({ duplicate: false });
    expect(await effectsOf(event.eventId)).toBe(1);
  });

  test("lets a replay have its effect once more, once", async () => {
    const event = delivery();
    await effect(event);
    const replay = delivery({ eventId: event.eventId, effectEpoch: 1, replayConsumer: "test-consumer" });
    await Promise.all([effect(replay), effect(replay)]);
    expect(await effectsOf(event.eventId)).toBe(2);
  });
});
