import { PROBE_TENANT, probeTypeOf } from "@toolctrl/foundation/envelope";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import type { Delivery } from "../src/define.ts";
import { startConsumers } from "../src/run.ts";
import { CONSUMER, counter, createHarness, newEventId, openStore, QUEUE, silent, untilJob, type Harness } from "./harness.ts";

const done = (result?: unknown): JobOutcome => ({ kind: "done", result });

test("a finished delivery leaves a receipt with its result, and its payload reached the handler as it was published", async () => {
  const harness = await createHarness();
  const seen: Delivery[] = [];
  harness.start({
    handle: async (delivery) => {
      seen.push(delivery);
      return done({ ok: true });
    },
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id, payload: { deep: [1, null, { a: "b" }] } });
  await untilJob(harness, id, "completed");
  expect(seen.map(({ payload, effectEpoch, tenantId }) => ({ payload, effectEpoch, tenantId }))).toEqual([
    { payload: { deep: [1, null, { a: "b" }] }, effectEpoch: 0, tenantId: "acme" },
  ]);
  expect(await harness.receipts(id)).toEqual([{ outcome: "done", effectEpoch: 0, result: { ok: true }, detail: null }]);
  expect(await counter(harness.metrics, `outbox_consumer_deliveries_total{consumer="${CONSUMER}",outcome="done"}`)).toBe(1);
});

test("what a delivery leaves in the store lies under the queue's prefix, as all keys of an installation do", async () => {
  const harness = await createHarness();
  harness.start({ handle: async () => done() });
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  const redis = new Redis(harness.namespace.url);
  const keys = (await redis.keys(`*${id}*`)).filter((key) => key.includes(CONSUMER));
  redis.disconnect();
  expect(keys).toEqual([expect.stringMatching(/:idem:/)]);
  expect(keys.filter((key) => !key.startsWith(`${harness.namespace.prefix}:`))).toEqual([]);
});

test("a probe gets its receipt and is passed on, and its handler is not run; what has only one of its marks is handled", async () => {
  const harness = await createHarness();
  const [handled, passedOn]: [string[], string[]] = [[], []];
  harness.start({
    handle: async ({ eventId }) => {
      handled.push(eventId);
      return done();
    },
    passOn: async ({ eventId }) => void passedOn.push(eventId),
  });
  const [probe, typed, owned] = [newEventId(), newEventId(), newEventId()];
  await harness.add({ outboxEventId: probe, tenantId: PROBE_TENANT, type: probeTypeOf("audit.") });
  await harness.add({ outboxEventId: typed, type: probeTypeOf("audit.") });
  await harness.add({ outboxEventId: owned, tenantId: PROBE_TENANT });
  await Promise.all([probe, typed, owned].map((id) => untilJob(harness, id, "completed")));
  expect([handled.sort(), passedOn]).toEqual([[typed, owned].sort(), [probe]]);
  expect(await harness.receipts(probe)).toEqual([{ outcome: "done", effectEpoch: 0, result: { probe: true }, detail: null }]);
});

test("a handler that throws gives up its claim: the next delivery runs it at once, and the error reaches the queue unchanged", async () => {
  const harness = await createHarness({ attempts: 3, backoffMs: 10 });
  let effects = 0;
  const calls: number[] = [];
  harness.start({
    async handle({ failures }) {
      calls.push(failures);
      if (calls.length === 1) throw new Error("the ledger is closed today");
      effects += 1;
      return done();
    },
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  expect({ calls, effects }).toEqual({ calls: [0, 1], effects: 1 });
});

test("two deliveries at once: the second is told to wait, not that it is done; after the first fails it runs, and never two handlers at a time", async () => {
  const harness = await createHarness({ attempts: 2, backoffMs: 10 });
  const id = newEventId();
  let running = 0;
  let most = 0;
  let effects = 0;
  let attemptsUsed = -1;
  const first = Promise.withResolvers<void>();
  harness.start(
    {
      async handle({ envelope, failures }) {
        running += 1;
        most = Math.max(most, running);
        attemptsUsed = failures;
        try {
          if (envelope.generation === 0) {
            await first.promise;
            throw new CodedError("MAIL.REJECTED", "refused for good");
          }
          effects += 1;
          return done();
        } finally {
          running -= 1;
        }
      },
    },
    { claimTtlMs: 1000 },
  );
  await harness.add({ outboxEventId: id, generation: 0 });
  await waitFor(() => running === 1);
  await harness.add({ outboxEventId: id, generation: 1 });
  const waiting = await untilJob(harness, id, "delayed", 1);
  expect(waiting.failures).toBe(0);
  expect(await harness.receipts(id)).toEqual([]);
  first.resolve();
  await untilJob(harness, id, "failed", 0);
  await untilJob(harness, id, "completed", 1);
  expect({ most, effects, attemptsUsed }).toEqual({ most: 1, effects: 1, attemptsUsed: 0 });
});

test("retry, snooze and cancel are no results: each gives up the claim and records no success", async () => {
  const harness = await createHarness({ attempts: 3, backoffMs: 10 });
  const outcomes: JobOutcome[] = [
    { kind: "snooze", untilMs: Date.now() },
    { kind: "retry", error: new Error("not yet") },
    { kind: "snooze", untilMs: Date.now() },
    { kind: "cancel", error: new CodedError("MAIL.REJECTED", "refused for good") },
  ];
  let calls = 0;
  harness.start({
    async handle() {
      const outcome = outcomes[calls] ?? done("mended");
      calls += 1;
      return outcome;
    },
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "failed");
  const [receipt] = await waitFor(async () => {
    const receipts = await harness.receipts(id);
    return receipts.length > 0 ? receipts : null;
  });
  expect(receipt).toMatchObject({ outcome: "dead", detail: "MAIL.REJECTED: refused for good" });
  expect(await counter(harness.metrics, `queue_dead_total{queue="${QUEUE}"}`)).toBe(1);

  await harness.add({ outboxEventId: id, generation: 1 });
  await untilJob(harness, id, "completed", 1);
  expect(await harness.receipts(id)).toMatchObject([{ outcome: "done", result: "mended" }]);
  expect(calls).toBe(5);
});

test("a duplicate is suppressed, counted and passed on: in sequence, after its completed job is gone, and after the store was flushed", async () => {
  const harness = await createHarness();
  let effects = 0;
  const passedOn: string[] = [];
  harness.start({
    async handle() {
      effects += 1;
      return done(effects);
    },
    async passOn({ eventId, envelope }) {
      passedOn.push(`${eventId}/${envelope.generation}`);
    },
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  await harness.add({ outboxEventId: id, generation: 1 });
  await untilJob(harness, id, "completed", 1);
  await harness.backend.obliterate(QUEUE);
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  await forgetClaims(harness);
  await harness.add({ outboxEventId: id, generation: 2 });
  await untilJob(harness, id, "completed", 2);
  expect(effects).toBe(1);
  expect(passedOn).toEqual([`${id}/1`, `${id}/0`, `${id}/2`]);
  expect(await counter(harness.metrics, `outbox_duplicates_suppressed_total{consumer="${CONSUMER}"}`)).toBe(3);
});

test("a duplicate that cannot be passed on is tried again until it can", async () => {
  const harness = await createHarness({ backoffMs: 10 });
  let passes = 0;
  harness.start({
    handle: async () => done(),
    async passOn() {
      passes += 1;
      if (passes === 1) throw new CodedError("QUEUE.UNREACHABLE", "the queue is away");
    },
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  await harness.add({ outboxEventId: id, generation: 1 });
  await untilJob(harness, id, "completed", 1);
  expect(passes).toBe(2);
});

test("a replay repeats the effect of the one consumer it names, in its own epoch; the others stay suppressed", async () => {
  const harness = await createHarness();
  const epochs: number[] = [];
  harness.start({
    async handle({ effectEpoch }) {
      epochs.push(effectEpoch);
      return done();
    },
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  await harness.add({
    outboxEventId: id,
    generation: 1,
    effectEpoch: 1,
    replayConsumer: "somebody-else",
  });
  await untilJob(harness, id, "completed", 1);
  await harness.add({ outboxEventId: id, generation: 2, effectEpoch: 2, replayConsumer: CONSUMER });
  await untilJob(harness, id, "completed", 2);
  await harness.add({ outboxEventId: id, generation: 3, effectEpoch: 2, replayConsumer: CONSUMER });
  await untilJob(harness, id, "completed", 3);
  expect(epochs).toEqual([0, 2]);
  expect((await harness.receipts(id)).map(({ effectEpoch }) => effectEpoch)).toEqual([0, 2]);

  // A consumer that had not finished runs at last when another is replayed, in its own first epoch.
  const unfinished = newEventId();
  await harness.add({ outboxEventId: unfinished, generation: 1, effectEpoch: 1, replayConsumer: "somebody-else" });
  await untilJob(harness, unfinished, "completed", 1);
  expect(epochs).toEqual([0, 2, 0]);
});

test("a payload that travels by reference is read from the event's row, of its own tenant only", async () => {
  const harness = await createHarness({ attempts: 5 });
  const seen: unknown[] = [];
  harness.start({
    async handle({ payload }) {
      seen.push(payload);
      return done();
    },
  });
  const id = newEventId();
  await harness.database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload") VALUES ($1, 'acme', 'audit.entry.record', $2)`,
    [id, { big: "x".repeat(200_000) }],
  );
  await harness.addByReference({ outboxEventId: id, generation: 1, tenantId: "rival" });
  await untilJob(harness, id, "failed", 1);
  await harness.addByReference({ outboxEventId: id });
  await untilJob(harness, id, "completed");
  expect(seen).toEqual([{ big: "x".repeat(200_000) }]);
});

test("a job without an envelope is dead after one try, and no handler sees it", async () => {
  const harness = await createHarness({ attempts: 5 });
  let calls = 0;
  harness.start({
    async handle() {
      calls += 1;
      return done();
    },
  });
  await harness.backend.addAll([{ queue: QUEUE, id: "outbox-odd", name: "odd", data: { v: 2, secret: "s3cret" } }]);
  const job = await waitFor(async () => {
    const view = await harness.backend.find(QUEUE, "outbox-odd");
    return view?.state === "failed" && view.failedReason !== null ? view : null;
  });
  expect(job.starts).toBe(1);
  expect(job.failedReason).toContain("outboxEventId");
  expect(job.failedReason).not.toContain("s3cret");
  expect(calls).toBe(0);
  await waitFor(async () => (await counter(harness.metrics, `queue_dead_total{queue="${QUEUE}"}`)) === 1);
});

test("two consumers of one queue are refused: they would take each other's jobs", async () => {
  const harness = await createHarness();
  const consumer = { name: "a", queue: QUEUE, concurrency: 1, handle: async () => done() } as const;
  const { database, backend, metrics } = harness;
  const context = {
    backend,
    pool: database.pool,
    metrics,
    receiver: { ttlSeconds: 60, claimTtlMs: 1000 },
  };
  const alerts = createAlerts({ app: "test", log: silent });
  expect(() =>
    startConsumers({
      ...context,
      store: openStore(harness.namespace.url),
      log: silent,
      alerts,
      consumers: [consumer, { ...consumer, name: "b" }],
    }),
  ).toThrow(/one consumer per queue, got a and b/);
});

/** What a flush of the claim store does, for this test's keys alone. */
async function forgetClaims(harness: Harness): Promise<void> {
  const redis = new Redis(harness.namespace.url);
  try {
    const keys = await redis.keys(`${harness.namespace.prefix.replaceAll(/[[\]{}*?]/g, "\\$&")}*`);
    const claims = keys.filter((key) => key.includes(CONSUMER));
    expect(claims.length).toBeGreaterThan(0);
    await redis.del(...claims);
  } finally {
    redis.disconnect();
  }
}
