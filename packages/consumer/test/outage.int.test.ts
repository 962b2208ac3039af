// Mostly waits: a delivery that met an outage comes back after some seconds.
import { randomUUID } from "node:crypto";
import { CONNECTION_LIMITS, createDatabase, transaction } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import type { Delivery } from "../src/define.ts";
import { createOutagePause } from "../src/outage-pause.ts";
import { createHarness, type Harness } from "./harness.ts";

const ONE_ATTEMPT = { attempts: 1 };
/** A pause and the time to come to it again. */
const COMES_BACK = { timeoutMs: 40_000 };

/** A harness whose database lies behind a network that can be taken away. */
async function openBehindProxy(limits = CONNECTION_LIMITS) {
  const { url } = await createTestDatabase();
  const proxy = await startTcpProxy({ toPort: Number(new URL(url).port) });
  onTestFinished(() => proxy.close());
  const proxied = new URL(url);
  proxied.port = String(proxy.port);
  const database = await createDatabase({ url: proxied.href, poolMax: 5, limits, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  return { proxy, harness: await createHarness({ ...ONE_ATTEMPT, database }) };
}

async function untilPut(harness: Harness, eventId: string, state: string): Promise<{ state: string; failures: number } | null> {
  await waitFor(async () => (await harness.jobState(eventId))?.state === state, { what: `the job to be ${state}`, timeoutMs: 20_000 });
  return harness.jobState(eventId);
}

test.each(["refuses", "does not answer"] as const)(
  "while the database %s a delivery waits and uses no attempt; once it is back the delivery is made, once",
  async (how) => {
    const { proxy, harness } = await openBehindProxy();
    const handled: string[] = [];
    harness.start({ handle: async ({ eventId }: Delivery) => (handled.push(eventId), { kind: "done", result: null }) });
    if (how === "refuses") await proxy.refuse();
    else {
      proxy.pause();
      proxy.cut();
    }
    const eventId = randomUUID();
    await harness.add({ outboxEventId: eventId });
    expect(await untilPut(harness, eventId, "delayed")).toMatchObject({ state: "delayed", failures: 0 });
    expect(handled).toEqual([]);
    await proxy.resume();
    await waitFor(() => harness.receipts(eventId).then((receipts) => receipts.length === 1), { what: "the receipt", ...COMES_BACK });
    expect(handled).toEqual([eventId]);
  },
  90_000,
);

test("handlers that meet the outage themselves are paused too, whether they throw or answer with a retry", async () => {
  const { proxy, harness } = await openBehindProxy();
  const { pool } = harness.database;
  const [throws, answers] = [randomUUID(), randomUUID()];
  const begun: string[] = [];
  const { promise: outage, resolve: begins } = Promise.withResolvers<void>();
  harness.start({
    async handle({ eventId }: Delivery) {
      begun.push(eventId);
      await outage;
      try {
        await pool.query("SELECT 1");
      } catch (error) {
        if (eventId === throws) throw error;
        return { kind: "retry", error: new Error("could not look it up", { cause: error }) };
      }
      return { kind: "done", result: null };
    },
  });
  await Promise.all([throws, answers].map((outboxEventId) => harness.add({ outboxEventId })));
  await waitFor(() => begun.length === 2, { what: "both handlers to run" });
  await proxy.refuse();
  begins();
  for (const eventId of [throws, answers]) {
    expect(await untilPut(harness, eventId, "delayed")).toMatchObject({ state: "delayed", failures: 0 });
  }
  await proxy.resume();
  for (const eventId of [throws, answers]) {
    await waitFor(() => harness.receipts(eventId).then((receipts) => receipts.length === 1), { what: "the receipt", ...COMES_BACK });
  }
}, 90_000);

test("a failure that only looks like an outage counts: a handler that breaks its own connection comes to an end", async () => {
  const harness = await createHarness(ONE_ATTEMPT);
  const { pool } = harness.database;
  harness.start({
    async handle() {
      await pool.query("SELECT pg_terminate_backend(pg_backend_pid())");
      return { kind: "done", result: null };
    },
  });
  const eventId = randomUUID();
  await harness.add({ outboxEventId: eventId });
  expect(await untilPut(harness, eventId, "failed")).toMatchObject({ failures: 1 });
  await waitFor(() => harness.receipts(eventId).then((receipts) => receipts.length === 1), { what: "the receipt" });
  expect(await harness.receipts(eventId)).toMatchObject([{ outcome: "dead" }]);
});

test("connections that went silent are given up: deliveries go on by themselves over new ones", async () => {
  const { proxy, harness } = await openBehindProxy({ ...CONNECTION_LIMITS, silenceMs: 2_000 });
  const { pool } = harness.database;
  const handled: string[] = [];
  harness.start({ handle: async ({ eventId }: Delivery) => (handled.push(eventId), { kind: "done", result: null }) });
  await Promise.all(Array.from({ length: 5 }, () => pool.query("SELECT pg_sleep(0.1)")));
  proxy.strand();
  const met = randomUUID();
  await harness.add({ outboxEventId: met });
  expect(await untilPut(harness, met, "failed")).toMatchObject({ failures: 1 });
  const later = [randomUUID(), randomUUID(), randomUUID()];
  for (const outboxEventId of later) await harness.add({ outboxEventId });
  await waitFor(() => later.every((id) => handled.includes(id)), { what: "the later deliveries", timeoutMs: 20_000 });
  await harness.database.ping();
}, 60_000);

test("a delivery whose handler crashes the server each time comes to an end, and its receipt names it", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  await migrate({ url: server.url });
  const database = await createDatabase({ url: server.url, poolMax: 5, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  const harness = await createHarness({ ...ONE_ATTEMPT, database });
  let handled = 0;
  harness.start({
    async handle() {
      handled += 1;
      await transaction(database.pool, async (tx) => {
        const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        process.kill(rows[0]?.pid ?? 0, "SIGKILL");
        await tx.query("SELECT pg_sleep(60)");
      });
      return { kind: "done", result: null };
    },
  });
  const eventId = randomUUID();
  await harness.add({ outboxEventId: eventId });
  const isDead = async (): Promise<boolean> => (await harness.receipts(eventId)).some(({ outcome }) => outcome === "dead");
  await waitFor(isDead, { what: "the delivery to be dead", timeoutMs: 100_000 });
  expect(handled).toBe(4);
}, 120_000);

test("a database that takes no writes, or is full, counts against no delivery: the first not even after many starts", async () => {
  const { url, name } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  const harness = await createHarness({ ...ONE_ATTEMPT, database });
  const admin = await createDatabase({
    url: `${url}?options=-c%20default_transaction_read_only%3Doff`,
    poolMax: 1,
    app: "admin",
    wakeup: false,
  });
  onTestFinished(() => admin.close());
  const eventId = randomUUID();
  harness.start({
    async handle() {
      await database.prisma.idempotencyKey.create({ data: { key: "effect", value: "v", expiresAt: new Date(0) } });
      return { kind: "done", result: null };
    },
  });
  const reopen = `SELECT pg_terminate_backend("pid") FROM pg_stat_activity WHERE "datname" = current_database() AND "application_name" = 'test'`;
  await admin.pool.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
  await admin.pool.query(reopen);
  await harness.add({ outboxEventId: eventId });
  expect(await untilPut(harness, eventId, "delayed")).toMatchObject({ state: "delayed", failures: 0 });
  const pause = createOutagePause(database.pool);
  const refused = async (statement: string) => ({ kind: "retry", error: await rejection(database.pool.query(statement)) }) as const;
  const notWritten = await refused(`DELETE FROM "OutboxEvent"`);
  expect(await pause(notWritten, true)).toMatchObject({ kind: "snooze" });
  await admin.pool.query(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
  await admin.pool.query(reopen);
  await waitFor(() => harness.receipts(eventId).then((receipts) => receipts.length === 1), { what: "the receipt", ...COMES_BACK });
  expect(await pause(notWritten, true)).toBe(notWritten);
  const full = await refused(`DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$`);
  expect(await pause(full, false)).toMatchObject({ kind: "snooze" });
  expect(await pause(full, true)).toBe(full);
}, 90_000);

function rejection(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("expected a rejection, got none"),
    (error: Error) => error,
  );
}
