import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { endInOrder, statuses } from "./observe.ts";
import { openRig, type Rig } from "./rig.ts";
import type { Worker } from "./worker.ts";

const EVENTS = 200_000;
/** Every 20th event has an effect in the worker itself; the others are handed off to a queue whose consumer is elsewhere. */
const CONSUMED = EVENTS / 20;
const MEGABYTE = 1024 * 1024;
/** What Redis may hold at all: 190,000 waiting jobs, and of everything else only so much as the product keeps on purpose. */
const REDIS_MEGABYTES = 400;
const SAMPLE_EVERY_MS = 100;

/** 200,000 due events of 20 tenants, in one statement. */
async function insertEvents(rig: Rig): Promise<void> {
  await rig.database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload")
     SELECT gen_random_uuid(), 'tenant-' || n % 19, CASE WHEN n % 20 = 0 THEN 'billing.invoice.paid' ELSE 'webhook.document.changed' END,
       jsonb_build_object('n', n, 'text', repeat('x', 200))
     FROM generate_series(1, $1::int) n`,
    [EVENTS],
  );
}

/** Samples a process's resident memory from outside, in bytes, until stopped. */
function sampleResident(pid: number): { stop(): Promise<number[]> } {
  const samples: number[] = [];
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const status = await readFile(`/proc/${pid}/status`, "utf8");
      samples.push(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024);
      await delay(SAMPLE_EVERY_MS);
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    async stop() {
      stopped = true;
      await running;
      return samples;
    },
  };
}

function medianOfQuarter(samples: readonly number[], quarter: 1 | 2 | 3 | 4): number {
  const size = Math.floor(samples.length / 4);
  const part = samples.slice((quarter - 1) * size, quarter * size).sort((a, b) => a - b);
  return part[Math.floor(part.length / 2)] ?? Number.NaN;
}

async function count(rig: Rig, sql: string): Promise<number> {
  return (await rig.database.pool.query<{ n: number }>(`SELECT count(*)::int AS n ${sql}`)).rows[0]?.n ?? 0;
}

/** However slow the machine is: it is the drainer's standing still that fails. */
async function untilHandedOff(worker: Worker): Promise<void> {
  const done = (): Promise<number> => worker.metric(`outbox_settles_total{outcome="done"}`);
  for (let seen = 0; seen < EVENTS;) {
    const before = seen;
    const more = async (): Promise<number> => ((seen = await done()) > before ? seen : 0);
    await waitFor(more, { timeoutMs: 60_000, what: `more than ${before} of ${EVENTS} events to be handed off` });
  }
}

test("a worker drains 200,000 events within 250 MB, does not grow while it does, and leaves Redis no more than is waiting", async () => {
  const redis = await startRedis({ args: ["--maxmemory", `${REDIS_MEGABYTES}mb`] });
  onTestFinished(() => redis.close());
  const rig = await openRig({ redisUrl: redis.url, env: { OUTBOX_DISPATCH_INTERVAL_MS: "1000" } });
  await insertEvents(rig);
  const worker = await rig.start("general");
  const sampling = sampleResident(worker.pid);
  await untilHandedOff(worker);
  const consumed = (): Promise<number> => worker.metric(`outbox_consumer_deliveries_total{consumer="notification-create",outcome="done"}`);
  await waitFor(async () => (await consumed()) === CONSUMED, { timeoutMs: 60_000, what: "all notifications" });
  const samples = await sampling.stop();
  expect(await statuses(rig)).toEqual({ DONE: EVENTS, retried: 0 });
  expect(await count(rig, `FROM "Notification"`)).toBe(CONSUMED);
  expect(Math.max(...samples)).toBeLessThan(250 * MEGABYTE);
  expect(medianOfQuarter(samples, 4)).toBeLessThanOrEqual(1.1 * medianOfQuarter(samples, 2));
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const prefix = rig.env["QUEUE_PREFIX"];
  expect(await client.llen(`${prefix}:outbox.webhook:wait`)).toBe(EVENTS - CONSUMED);
  // Finished jobs by count, events by length: what 10,000 finished jobs leave does not grow with their number.
  expect(await client.zcard(`${prefix}:outbox.notification:completed`)).toBeLessThanOrEqual(1000);
  for (const queue of ["outbox.notification", "outbox.webhook"]) expect(await client.xlen(`${prefix}:${queue}:events`)).toBeLessThan(1500);
  await endInOrder([worker]);
}, 1_200_000);
