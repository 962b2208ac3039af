// Mostly waits: a delivery that met an outage comes back after some seconds.
import { randomUUID } from "node:crypto";
import { CONNECTION_LIMITS, createDatabase } from "@toolctrl/db/client";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import type { Delivery } from "../src/define.ts";
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
