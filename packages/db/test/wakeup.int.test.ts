import { startMutePooler } from "@toolctrl/testkit/mute-pooler";
import { waitFor } from "@toolctrl/testkit/wait";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase, transaction } from "../src/client.ts";
import { outboxTransactionOf, publishOutboxEvent, publishOutboxEvents, type OutboxTransaction } from "../src/outbox.ts";
import { createWakeupSender, listenForWakeups, sendWakeup, WAKEUP_CHANNEL } from "../src/wakeup.ts";
import { openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const event = { tenantId: TENANT, type: "shop.order.place", payload: {} };

/** A session that counts the hints. A statement on it answers after all hints that were sent before. */
async function countHints(url: string): Promise<{ count(): Promise<number>; payloads: string[] }> {
  const client = new pg.Client({ connectionString: url });
  const payloads: string[] = [];
  client.on("notification", (hint) => payloads.push(hint.payload ?? ""));
  await client.connect();
  await client.query(`LISTEN ${WAKEUP_CHANNEL}`);
  onTestFinished(() => client.end());
  return { payloads, count: async () => client.query("SELECT 1").then(() => payloads.length) };
}

test("a commit with an event sends a hint without data, after the event is visible", async () => {
  const db = await openDatabase({ wakeup: true });
  const hints = await countHints(db.url);
  const seen: unknown[] = [];
  const listener = await listenForWakeups({
    url: db.url,
    onWake: () => {
      void rowsOf(db, `SELECT "id" FROM "OutboxEvent"`).then((rows) => seen.push(...rows));
    },
  });
  onTestFinished(() => listener.close());
  const { id } = await db.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
  await waitFor(() => seen.length, { what: "the hint" });
  expect(seen).toEqual([{ id }]);
  await waitFor(() => hints.count());
  expect(new Set(hints.payloads)).toEqual(new Set([""]));
});

test("no hint goes out for a rollback, for other writes, or with the switch off", async () => {
  const on = await openDatabase({ wakeup: true });
  const hints = await countHints(on.url);
  await on.prisma.$transaction((tx) => tx.idempotencyKey.create({ data: { key: "k", value: "OutboxEvent", expiresAt: new Date(0) } }));
  await rejection(
    on.prisma.$transaction(async (tx) => {
      await publishOutboxEvent(tx, event);
      throw new Error("rolled back");
    }),
  );
  const off = await createDatabase({ url: on.url, poolMax: 1, app: "test", wakeup: false });
  await off.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
  // Closing waits for hints under way; what has not come now never comes.
  await Promise.all([on.close(), off.close()]);
  expect(await hints.count()).toBe(0);
});

test("a commit of raw SQL that published sends a hint, however the events were written; one that did not, or was rolled back, sends none", async () => {
  const db = await openDatabase({ wakeup: true });
  const hints = await countHints(db.url);
  await transaction(db.pool, (tx) => tx.query(`UPDATE "OutboxEvent" SET "attempts" = 0`));
  const undone = transaction(db.pool, async (tx) => {
    await publishOutboxEvent(outboxTransactionOf(tx), event);
    throw new Error("rolled back");
  });
  await rejection(undone);
  const publishing: Array<(tx: OutboxTransaction) => Promise<unknown>> = [
    (tx) => publishOutboxEvent(tx, event),
    (tx) => publishOutboxEvents(tx, [event, event]),
  ];
  for (const publish of publishing) {
    const before = await hints.count();
    await transaction(db.pool, (tx) => publish(outboxTransactionOf(tx)));
    await waitFor(async () => (await hints.count()) > before, { what: "the hint" });
  }
  // Closing waits for hints under way: one that nobody should have asked for would be among them.
  await db.close();
  expect(await hints.count()).toBe(2);
});

test("a burst of commits shares hints", async () => {
  const db = await openDatabase({ wakeup: true });
  const hints = await countHints(db.url);
  await Promise.all(Array.from({ length: 200 }, () => db.prisma.$transaction((tx) => publishOutboxEvent(tx, event))));
  await db.close();
  expect(await hints.count()).toBeGreaterThan(0);
  expect(await hints.count()).toBeLessThan(100);
});

test("requests that come while a hint is under way share the next one", async () => {
  const db = await openDatabase();
  const hints = await countHints(db.url);
  const sender = createWakeupSender({ url: db.url, app: "sender" });
  for (let n = 0; n < 1_000; n += 1) sender.request();
  await waitFor(() => hints.count());
  for (let n = 0; n < 1_000; n += 1) sender.request();
  await sender.close();
  // Each burst: the hint under way, and the one that the others share.
  expect(await hints.count()).toBeLessThanOrEqual(4);
});

test("a hint that cannot be sent is logged, and the publisher never sees it", async () => {
  const warnings: string[] = [];
  const log = { info: () => undefined, error: () => undefined, warn: (_: object, message: string) => void warnings.push(message) };
  const db = await openDatabase({ wakeup: true, directUrl: "postgres://nobody@127.0.0.1:1/none", log });
  await db.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
  await waitFor(() => warnings.length, { what: "the warning" });
  expect(await rowsOf(db, `SELECT 1 AS "one" FROM "OutboxEvent"`)).toEqual([{ one: 1 }]);
});

test("a sender that lost its connection sends the next hint on a new one", async () => {
  const db = await openDatabase();
  const hints = await countHints(db.url);
  const sender = createWakeupSender({ url: db.url, app: "sender" });
  onTestFinished(() => sender.close());
  sender.request();
  await waitFor(() => hints.count());
  await db.pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sender wakeup'`);
  const before = await hints.count();
  const after = await waitFor(async () => {
    sender.request();
    const count = await hints.count();
    return count > before && count;
  });
  expect(after).toBeGreaterThan(before);
});

test("a listener finds its way back after a server restart and wakes then, as hints may have been missed", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  let wakes = 0;
  const listener = await listenForWakeups({
    url: server.url,
    onWake: () => {
      wakes += 1;
      throw new Error("a broken handler does not end the listening");
    },
  });
  onTestFinished(() => listener.close());
  expect(wakes).toBe(1);
  await server.restart();
  await waitFor(() => wakes >= 2, { timeoutMs: 30_000, what: "the wake-up after the restart" });
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await sendWakeup(client);
  await client.end();
  await waitFor(() => wakes >= 3, { what: "the hint" });
});

test("a listener starts while the server is away, and its owner can close it", async () => {
  const listener = await listenForWakeups({ url: "postgres://nobody@127.0.0.1:1/none", onWake: () => undefined });
  await expect(listener.close()).resolves.toBeUndefined();
});

test("a listener wakes for the hints of any session of its database, and of no other", async () => {
  const db = await openDatabase();
  const other = await openDatabase();
  let wakes = 0;
  const listener = await listenForWakeups({ url: db.url, onWake: () => void (wakes += 1) });
  onTestFinished(() => listener.close());
  // Once for the connection itself; another database's hints are not ours.
  expect(wakes).toBe(1);
  await sendWakeup(other.pool);
  await sendWakeup(db.pool);
  await waitFor(() => wakes > 1, { what: "the hint" });
  expect(wakes).toBe(2);
});

test("a listener whose server takes the login and answers nothing lets its caller go on", async () => {
  const warnings: string[] = [];
  const log = { info: () => undefined, warn: (_fields: object, message: string) => void warnings.push(message), error: () => undefined };
  const listener = await listenForWakeups({ url: await startMutePooler(), onWake: () => undefined, log });
  await listener.close();
  expect(warnings).toEqual(["the wake-up listener lost its connection; polling goes on"]);
});
