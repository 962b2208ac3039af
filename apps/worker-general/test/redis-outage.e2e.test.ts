import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { endInOrder, makeDue, statuses } from "./observe.ts";
import { openRig } from "./rig.ts";
import { compareEffects, publishRound, startTraffic, untilReceipts } from "./traffic.ts";
import { watchHealth } from "./watch-health.ts";

const ALL_ONCE = { missing: [], doubled: [], repeated: 0 };
/** Every acknowledged write survives its crash. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always"];

async function ownRedis(args: string[] = []): Promise<RedisServer> {
  const redis = await startRedis({ args });
  onTestFinished(() => redis.close());
  return redis;
}

test("Redis away at boot: both workers start, live, say so, and go to work without a restart once it is there", async () => {
  const redis = await ownRedis();
  await redis.stop();
  const rig = await openRig({ redisUrl: redis.url });
  const workers = await Promise.all([rig.start("general"), rig.start("mail")]);
  const watches = workers.map(watchHealth);
  const rounds = await Promise.all(["a", "b", "c"].map((name) => publishRound(rig, name)));
  const errors = `SELECT 1 FROM "OutboxEvent" WHERE "lastErrorCode" = 'QUEUE.UNREACHABLE'`;
  await waitFor(async () => (await rig.database.pool.query(errors)).rowCount, { timeoutMs: 20_000, what: "the dispatcher to notice" });
  await waitFor(() => watches.every(({ readiness }) => readiness.length > 0), { what: "the first answers" });
  await redis.start();
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 200), { timeoutMs: 20_000, what: "readiness" });
  await makeDue(rig);
  await untilReceipts(rig, rounds);
  expect(watches.map(({ readiness }) => readiness)).toEqual([
    [503, 200],
    [503, 200],
  ]);
  expect(watches.map((watch) => watch.liveness())).toEqual([[200], [200]]);
  expect(await compareEffects(rig, rounds)).toEqual(ALL_ONCE);
  expect(await statuses(rig)).toEqual({ DONE: 12, retried: 0 });
  await endInOrder(workers);
});

test("Redis killed in the middle of traffic and started again: nothing is lost or doubled, and nobody restarts", async () => {
  const redis = await ownRedis(DURABLE);
  const rig = await openRig({ redisUrl: redis.url });
  const workers = await Promise.all([rig.start("general"), rig.start("mail")]);
  const watches = workers.map(watchHealth);
  const traffic = startTraffic(rig, "r", 20);
  await waitFor(() => rig.smtp.mails.length >= 5 && rig.http.requests.length >= 5, { timeoutMs: 20_000, what: "the first effects" });
  await redis.kill();
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 503), { what: "readiness to tell" });
  await redis.start();
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 200), { timeoutMs: 20_000, what: "readiness" });
  await publishRound(rig, "after");
  await makeDue(rig);
  const rounds = [...(await traffic.stop()), await publishRound(rig, "after")];
  await untilReceipts(rig, rounds);
  expect(watches.map(({ readiness }) => readiness)).toEqual([
    [200, 503, 200],
    [200, 503, 200],
  ]);
  expect(watches.map((watch) => watch.liveness())).toEqual([[200], [200]]);
  expect(await compareEffects(rig, rounds)).toEqual(ALL_ONCE);
  expect(await statuses(rig)).toEqual({ DONE: 4 * rounds.length, retried: 0 });
  await endInOrder(workers);
});

test("Redis flushed under waiting jobs: after the operator requeues the DONE range every effect is there once, by the same processes", async () => {
  const redis = await ownRedis();
  // The worker's own look for lost jobs comes too late here: it is the operator who finds them.
  const rig = await openRig({ redisUrl: redis.url, env: { OUTBOX_RECONCILE_INTERVAL_MS: "86400000" } });
  const workers = await Promise.all([rig.start("general"), rig.start("mail")]);
  const [general, mail] = workers;
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const before = await publishRound(rig, "before");
  await untilReceipts(rig, [before]);
  const watch = watchHealth(general);
  // Stopped like a machine that hangs: its jobs wait in Redis, and it holds its connections through the flush.
  mail.kill("SIGSTOP");
  const lost = await Promise.all(Array.from({ length: 10 }, (_, n) => publishRound(rig, `lost-${n}`)));
  const done = `SELECT 1 FROM "OutboxReceipt" WHERE "consumer" IN ('notification-create', 'audit-append') AND "outcome" = 'done'`;
  await waitFor(async () => (await rig.database.pool.query(done)).rowCount === 22, { timeoutMs: 20_000, what: "the general consumers" });
  // A receipt may be there before its event is settled.
  await waitFor(async () => (await statuses(rig))["DONE"] === 44, { timeoutMs: 20_000, what: "every event to be handed off" });
  expect(await statuses(rig)).toEqual({ DONE: 44, retried: 0 });
  await client.flushall();
  mail.kill("SIGCONT");
  const after = await publishRound(rig, "after");
  await untilReceipts(rig, [after]);
  expect(await compareEffects(rig, [before, after, ...lost])).toMatchObject({ missing: { length: 20 }, doubled: [] });
  const requeued = await rig.cli(
    "outbox",
    "requeue",
    "--status",
    "DONE",
    "--from",
    "1h",
    "--jitter",
    "0s",
    "--yes",
    "--reason",
    "redis flushed",
  );
  expect(requeued).toMatchObject({ code: 0, document: { matched: 48, changed: 48 } });
  await untilReceipts(rig, lost);
  await waitFor(async () => (await statuses(rig))["DONE"] === 48, { timeoutMs: 20_000, what: "every event to be handed off again" });
  expect(await compareEffects(rig, [before, after, ...lost])).toEqual(ALL_ONCE);
  expect([watch.readiness, watch.liveness()]).toEqual([[200], [200]]);
  await endInOrder(workers);
});

test("three cut connections and a restart of Redis: each event published after one is handled, and readiness is red no longer than Redis is away", async () => {
  const redis = await ownRedis();
  const proxy = await startTcpProxy({ toPort: redis.port });
  onTestFinished(() => proxy.close());
  const rig = await openRig({ redisUrl: `redis://127.0.0.1:${proxy.port}` });
  const workers = await Promise.all([rig.start("general"), rig.start("mail")]);
  const watches = workers.map(watchHealth);
  const rounds = [await publishRound(rig, "start")];
  await untilReceipts(rig, rounds);
  for (const name of ["cut-1", "cut-2", "cut-3"]) {
    proxy.cut();
    rounds.push(await publishRound(rig, name));
    await untilReceipts(rig, rounds, 30_000);
  }
  // A cut may show while the connections are made anew, which takes a busy machine a moment; then it must be over.
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 200), { what: "readiness after the cuts" });
  const before = watches.map(({ readiness }) => readiness.length);
  await redis.stop();
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 503), { what: "readiness to tell" });
  await redis.start();
  rounds.push(await publishRound(rig, "restart"));
  await untilReceipts(rig, rounds, 30_000);
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 200), { what: "readiness" });
  expect(watches.map(({ readiness }, index) => readiness.slice(before[index]))).toEqual([
    [503, 200],
    [503, 200],
  ]);
  expect(watches.map((watch) => watch.liveness())).toEqual([[200], [200]]);
  expect(await compareEffects(rig, rounds)).toEqual(ALL_ONCE);
  await endInOrder(workers);
});
