import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { closeGate } from "./gate.ts";
import { endInOrder } from "./observe.ts";
import { countNotifications, publishNotifications, readEvents, untilNotified, untilStatus } from "./publish.ts";
import { openQueue } from "./queue.ts";
import { openRig, type Rig } from "./rig.ts";

const LOCK_MS = 1000;
const QUEUE = "outbox.notification";
const DELIVERIES = (outcome: string): string => `outbox_consumer_deliveries_total{consumer="notification-create",outcome="${outcome}"}`;

/** The cached result of an event, with the time it ends: whoever writes it again moves that. */
async function cachedResult(rig: Rig, eventId: string): Promise<{ value: string | null; endsAt: number }> {
  const redis = new Redis(rig.env["REDIS_URL"] ?? "");
  try {
    const keys = await redis.keys(`*${eventId}*`);
    const key = keys.find((name) => name.includes("notification-create")) ?? "";
    return { value: await redis.get(key), endsAt: await redis.pexpiretime(key) };
  } finally {
    redis.disconnect();
  }
}

test("a handler that blocks its event loop for five locks: another worker has the effect once, the late end overwrites nothing, both live", async () => {
  const rig = await openRig({ env: { QUEUE_LOCK_MS: String(LOCK_MS), OUTBOX_CLAIM_TTL_MS: String(LOCK_MS) } });
  const directory = await mkdtemp(join(tmpdir(), "toolctrl-block-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const unblock = join(directory, "go-on");
  const blocked = await rig.start("general", {
    preload: [new URL("./preload/block-loop.ts", import.meta.url)],
    env: { BLOCK_BEFORE: `INSERT INTO "OutboxReceipt"`, BLOCK_UNTIL: unblock },
  });
  const ids = await publishNotifications(rig, 1);
  const [id = ""] = ids;
  await blocked.waitForLine(/^blocking$/);
  const blockedAt = performance.now();
  const idle = await rig.start("general");
  await untilNotified(rig, ids);
  await waitFor(async () => (await cachedResult(rig, id)).value !== null && (await idle.metric(DELIVERIES("done"))) === 1, {
    what: "the idle worker to have finished",
  });
  expect(await idle.metric(`queue_stalled_total{queue="${QUEUE}"}`)).toBe(1);
  await idle.waitForLine(new RegExp(`"jobId":"${jobIdFor(id)}".*a job was taken from a worker that died or lost it`));
  await waitFor(() => performance.now() - blockedAt >= 5 * LOCK_MS, { what: "five locks" });
  const cached = await cachedResult(rig, id);
  await writeFile(unblock, "");
  await blocked.waitForLine(new RegExp(`CLAIM_LOST.*${id}|${id}.*CLAIM_LOST`));
  await waitFor(async () => (await blocked.metric(DELIVERIES("snooze"))) + (await blocked.metric(DELIVERIES("retry"))) === 1, {
    what: "the late delivery to have ended",
  });
  expect(await cachedResult(rig, id)).toEqual(cached);
  expect(await countNotifications(rig, ids)).toBe(1);
  const more = await publishNotifications(rig, 40);
  await untilNotified(rig, more);
  expect(await countNotifications(rig, [...ids, ...more])).toBe(41);
  expect((await readEvents(rig, ids))[0]).toMatchObject({ status: "DONE", attempts: 1 });
  await endInOrder([blocked, idle]);
});

test("a job whose workers are killed to the stall limit shows as dead in metrics and CLI, and succeeds after a requeue", async () => {
  const rig = await openRig({
    env: { QUEUE_LOCK_MS: String(LOCK_MS), OUTBOX_CLAIM_TTL_MS: "500", OUTBOX_RECEIVER_ATTEMPTS: "2" },
  });
  const queue = await openQueue(rig);
  const gate = await closeGate(rig, `BEFORE INSERT ON "Notification" FOR EACH ROW`);
  let worker = await rig.start("general");
  const ids = await publishNotifications(rig, 1);
  const [id = ""] = ids;
  await untilStatus(rig, ids, "DONE");
  // As many deaths as the job has attempts are forgiven; the one after them is not.
  for (let death = 1; death <= 3; death += 1) {
    await gate.untilWaiting(1);
    worker.kill("SIGKILL");
    await worker.waitForExit();
    await gate.dropWaiting();
    worker = await rig.start("general");
  }
  await untilNotified(rig, ids, "dead");
  expect(await worker.metric(`queue_dead_total{queue="${QUEUE}"}`)).toBe(1);
  await waitFor(async () => (await queue.find(QUEUE, jobIdFor(id)))?.state === "failed", { what: "the failed job to be kept" });
  const deadJobs = async (): Promise<unknown> => (await rig.cli("outbox", "stats")).document["dead"];
  expect(await deadJobs()).toMatchObject([
    { consumer: "notification-create", jobs: 1, newestDetail: expect.stringContaining("3 that died or lost it") as string },
  ]);
  expect(await rig.cli("outbox", "trace", id)).toMatchObject({ document: { event: { status: "DONE" }, verdict: { state: "dead" } } });
  await gate.open();
  expect(await rig.cli("outbox", "requeue", id, "--reason", "workers no longer die")).toMatchObject({ code: 0 });
  await untilNotified(rig, ids);
  expect(await countNotifications(rig, ids)).toBe(1);
  expect(await deadJobs()).toEqual([]);
  await endInOrder([worker]);
});

test("a consumer that always fails is run exactly as often as documented: hand-offs do not multiply with tries, a requeue gives as many again", async () => {
  const rig = await openRig({ env: { OUTBOX_RECEIVER_BACKOFF_MS: "5" } });
  const queue = await openQueue(rig);
  const { pool } = rig.database;
  // A sequence counts what the failing transaction takes back.
  await pool.query(`
    CREATE SEQUENCE "Runs";
    CREATE FUNCTION "fail"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM nextval('"Runs"'); RAISE EXCEPTION 'the receiver is broken'; END $$;
    CREATE TRIGGER "fail" BEFORE INSERT ON "Notification" FOR EACH ROW EXECUTE FUNCTION "fail"()`);
  const runs = async (): Promise<number> => Number((await pool.query<{ n: string }>(`SELECT last_value AS n FROM "Runs"`)).rows[0]?.n);
  const worker = await rig.start("general");
  const ids = await publishNotifications(rig, 1);
  const [id = ""] = ids;
  await untilNotified(rig, ids, "dead");
  // OUTBOX_RECEIVER_ATTEMPTS is left at its documented default.
  expect(await runs()).toBe(8);
  expect(await readEvents(rig, ids)).toMatchObject([{ status: "DONE", attempts: 1, retries: 0 }]);
  expect(await queue.find(QUEUE, jobIdFor(id))).toMatchObject({ state: "failed", failures: 8, starts: 8 });
  expect(await rig.cli("outbox", "requeue", id)).toMatchObject({ code: 0 });
  await waitFor(async () => (await worker.metric(`queue_dead_total{queue="${QUEUE}"}`)) === 2, {
    timeoutMs: 20_000,
    what: "the second death",
  });
  expect(await runs()).toBe(16);
  expect(await readEvents(rig, ids)).toMatchObject([{ status: "DONE", attempts: 2, retries: 0 }]);
  await endInOrder([worker]);
});

test("a handler that runs for ten claim lives with the pool used up keeps its claim and its job: a second delivery waits, one effect", async () => {
  const rig = await openRig({ env: { QUEUE_LOCK_MS: "1500", OUTBOX_CLAIM_TTL_MS: "800", DATABASE_POOL_MAX: "1" } });
  const queue = await openQueue(rig);
  const gate = await closeGate(rig, `BEFORE INSERT ON "Notification" FOR EACH ROW`);
  const busy = await rig.start("general");
  const ids = await publishNotifications(rig, 1);
  const [id = ""] = ids;
  await gate.untilWaiting(1);
  const redis = new Redis(rig.env["REDIS_URL"] ?? "");
  onTestFinished(() => redis.disconnect());
  const data = JSON.parse((await redis.hget(`${rig.env["QUEUE_PREFIX"]}:${QUEUE}:${jobIdFor(id)}`, "data")) ?? "") as object;
  const other = await rig.start("general");
  await queue.addAll([{ queue: QUEUE, id: jobIdFor(id, 1), name: "t", data: { ...data, generation: 1 } }]);
  // A snooze lasts as long as the claim would still live, were it not renewed.
  const snoozes = async (): Promise<number> => (await busy.metric(DELIVERIES("snooze"))) + (await other.metric(DELIVERIES("snooze")));
  await waitFor(async () => (await snoozes()) >= 10, { timeoutMs: 30_000, what: "the second delivery to have waited ten times" });
  await gate.open();
  await waitFor(async () => (await queue.counts(QUEUE)).completed === 2, { timeoutMs: 20_000, what: "both jobs to end" });
  expect(await queue.find(QUEUE, jobIdFor(id))).toMatchObject({ failures: 0, starts: 1 });
  expect(await countNotifications(rig, ids)).toBe(1);
  expect(busy.lines().filter((line) => /CLAIM_LOST|LOCK_LOST/.test(line))).toEqual([]);
  expect(await busy.metric("database_pool_wait_seconds_count")).toBeGreaterThan(0);
  await endInOrder([busy, other]);
});
