// Mostly waits: Redis is away for a minute.
import { setTimeout as delay } from "node:timers/promises";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { endInOrder, statuses } from "./observe.ts";
import { openRig } from "./rig.ts";
import { compareEffects, startTraffic, untilReceipts } from "./traffic.ts";
import { watchHealth } from "./watch-health.ts";

/** The length of the outage is what this test is about; nothing else here waits for the clock. */
const OUTAGE_MS = 60_000;

test("Redis away for 60 s under traffic, with the locks and leases an installation has: nothing is lost, doubled, failed or restarted", async () => {
  const redis = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
  onTestFinished(() => redis.close());
  const rig = await openRig({
    redisUrl: redis.url,
    // A peer whose answer is late, on a slow machine, would be called again on record; here only Redis is to be the cause of anything.
    // The defaults, so that the minute outlasts a job's lock and a claim's life.
    env: {
      MAIL_SEND_DEADLINE_MS: "20000",
      WEBHOOK_DEADLINE_MS: "20000",
      QUEUE_LOCK_MS: "30000",
      OUTBOX_CLAIM_TTL_MS: "30000",
      OUTBOX_RECEIVER_BACKOFF_MS: "5000",
      OUTBOX_DISPATCH_INTERVAL_MS: "1000",
    },
  });
  const workers = await Promise.all([rig.start("general"), rig.start("mail")]);
  const watches = workers.map(watchHealth);
  const traffic = startTraffic(rig, "r", 250);
  await waitFor(() => rig.smtp.mails.length >= 5 && rig.http.requests.length >= 5, { timeoutMs: 20_000, what: "the first effects" });
  await redis.stop();
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 503), { what: "readiness to tell" });
  await delay(OUTAGE_MS);
  expect(await statuses(rig)).toMatchObject({ retried: 0 });
  expect((await statuses(rig))["FAILED"]).toBeUndefined();
  await redis.start();
  await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 200), { timeoutMs: 20_000, what: "readiness" });
  const rounds = await traffic.stop();
  await untilReceipts(rig, rounds, 60_000);
  expect(watches.map(({ readiness }) => readiness)).toEqual([
    [200, 503, 200],
    [200, 503, 200],
  ]);
  expect(watches.map((watch) => watch.liveness())).toEqual([[200], [200]]);
  expect(await compareEffects(rig, rounds)).toEqual({ missing: [], doubled: [], repeated: 0 });
  expect(await statuses(rig)).toEqual({ DONE: 4 * rounds.length, retried: 0 });
  await endInOrder(workers);
}, 150_000);
