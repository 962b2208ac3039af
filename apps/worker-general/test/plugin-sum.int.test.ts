import { randomUUID } from "node:crypto";
import type { Delivery } from "@toolctrl/consumer/define";
import { runBounded } from "@toolctrl/consumer/external-call";
import { insertIntents, listIntents, settleIntentUncalled } from "@toolctrl/consumer/intents";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import { createReceiptAuthority } from "@toolctrl/db/receipts";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PLUGIN_FANOUT, PLUGIN_INVOKE, type InvocationKey } from "../src/plugins/invocation.ts";
import { settleInvocation } from "../src/plugins/settle-invocation.ts";
import { deliveryOf } from "./delivery-of.ts";

let database: Database;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  database = await createDatabase({ url, poolMax: 20, app: "plugin-sum-test", wakeup: false });
});

afterAll(() => database.close());

/** An event with its fan-out done and a hook per target. */
async function fannedOut(targets: readonly string[]): Promise<InvocationKey> {
  const key = { eventId: randomUUID(), tenantId: "acme", consumer: PLUGIN_INVOKE, effectEpoch: 0 } as const;
  await createReceiptAuthority(database.pool, { ...key, consumer: PLUGIN_FANOUT }).record(key.eventId, null);
  await insertIntents(database.pool, key, targets, (target) => `${key.eventId}-${target}`);
  return key;
}

function hookOf({ eventId, tenantId }: InvocationKey, target: string): Delivery {
  const delivery = deliveryOf({ type: "plugin.hook.lead.created", payload: {}, eventId, tenantId });
  return { ...delivery, envelope: { ...delivery.envelope, target } };
}

/** What ends a hook, as its consumer does it. `before` runs between the end of the intent and the look at the others. */
async function settle(key: InvocationKey, target: string, error?: Error, before?: () => Promise<unknown>): Promise<void> {
  const intent = (await listIntents(database.pool, key)).find((each) => each.target === target);
  if (intent === undefined) throw new Error(`expected a hook of ${target}`);
  const end = error === undefined ? ({ state: "sent" } as const) : ({ state: "failed", error } as const);
  await transaction(database.pool, async (tx) => {
    await settleIntentUncalled(tx, intent.id, end);
    await before?.();
    await settleInvocation(tx, hookOf(key, target), end);
  });
}

async function sumOf({ eventId }: InvocationKey): Promise<string | undefined> {
  const { rows } = await database.pool.query<{ outcome: string }>(
    `SELECT "outcome" FROM "OutboxReceipt" WHERE "eventId" = $1 AND "consumer" = 'plugin-invoke'`,
    [eventId],
  );
  return rows[0]?.outcome;
}

test("two hooks that end at the same instant see each other: in 200 rounds the event's receipt is written each time", async () => {
  const rounds = Array.from({ length: 200 }, (_, index) => index);
  const missing: number[] = [];
  // A few rounds at a time, each with two connections.
  await runBounded(rounds, 6, async (round) => {
    const key = await fannedOut(["a", "b"]);
    // Both have ended their intent before either of them looks.
    let ended = 0;
    const both = Promise.withResolvers<void>();
    const meet = (): Promise<void> => {
      if ((ended += 1) === 2) both.resolve();
      return both.promise;
    };
    await Promise.all([settle(key, "a", undefined, meet), settle(key, "b", undefined, meet)]);
    if ((await sumOf(key)) !== "done") missing.push(round);
  });
  expect(missing).toEqual([]);
});

test("ten that end at once, some of them dead: the event is dead, once all have ended and not before", async () => {
  const targets = Array.from({ length: 10 }, (_, index) => `t${index}`);
  const key = await fannedOut([...targets, "last"]);
  await Promise.all(targets.map((target, index) => settle(key, target, index % 4 === 0 ? new Error("no") : undefined)));
  expect(await sumOf(key)).toBeUndefined();
  await settle(key, "last");
  expect(await sumOf(key)).toBe("dead");
  const { rows } = await database.pool.query<{ detail: string }>(
    `SELECT "detail" FROM "OutboxReceipt" WHERE "eventId" = $1 AND "consumer" = 'plugin-invoke'`,
    [key.eventId],
  );
  expect(rows[0]?.detail).toContain("got 3 of 11 failed for good: t0 ");
});

test("an event's hooks do not wait for those of another", async () => {
  const [held, free] = [await fannedOut(["a"]), await fannedOut(["a"])];
  await settle(held, "a", undefined, async () => {
    await transaction(database.pool, async (tx) => {
      await tx.query(`SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = $1 FOR UPDATE`, [held.eventId]);
      await settle(free, "a");
      expect(await sumOf(free)).toBe("done");
    });
  });
  expect(await sumOf(held)).toBe("done");
});
