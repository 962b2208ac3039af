import { jobIdFor } from "@toolctrl/queue/job-id";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { spawnNode } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { appWith } from "./app.ts";
import { createHarness, type Harness } from "./harness.ts";
import { contactOf, GRANTED, MARKETING, toldOf, upsertOf } from "./marketing-support.ts";

/** As time would: the call of the killed process cannot be running any more, and its claim is over. */
async function letTimePass({ database, namespace }: Harness, id: string): Promise<void> {
  await database.pool.query(`UPDATE "OutboxIntent" SET "sendingSince" = "sendingSince" - interval '1 day' WHERE "state" = 'sending'`);
  const redis = new Redis(namespace.url);
  const claims = await redis.keys(`${namespace.prefix}:idem:*${id}*`);
  expect(claims).toHaveLength(1);
  await redis.del(...claims);
  redis.disconnect();
}

/** After its second stall a job that may be tried once is dead. */
const KILLS = 2;

test("an event whose workers are killed in its call too often is dead and to be seen; a requeue makes it succeed, under the same key", async () => {
  const harness = await createHarness({ attempts: 1, lockMs: 500, stalledCheckMs: 200 });
  const peer = await startHttpPeer();
  peer.respond(() => "hang");
  const { env } = appWith(
    { smtp: peer, http: peer },
    {
      NODE_ENV: "test",
      DATABASE_URL: harness.url,
      QUEUE_BACKEND: "redis",
      REDIS_URL: harness.namespace.url,
      QUEUE_PREFIX: harness.namespace.prefix,
      QUEUE_LOCK_MS: "1000",
      OUTBOX_RECEIVER_ATTEMPTS: "1",
    },
  );
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  for (let kill = 0; kill < KILLS; kill += 1) {
    const worker = spawnNode(new URL("../src/main.ts", import.meta.url), { env: { ...env } });
    await waitFor(() => peer.requests.length === kill + 1, { what: "the provider to be called", timeoutMs: 60_000 });
    worker.kill("SIGKILL");
    await worker.waitForExit();
    await letTimePass(harness, id);
  }
  const worker = harness.start(harness.marketingSync(peer.port));
  const { detail } = await harness.untilReceipt(id, MARKETING, "dead");
  expect(detail).toContain("QUEUE.STALLED");
  expect(await harness.backend.find("outbox.marketing", jobIdFor(id))).toMatchObject({ state: "failed" });
  expect(await harness.metrics.text()).toContain('queue_dead_total{queue="outbox.marketing"} 1');
  peer.respond(() => ({ status: 200 }));
  await harness.requeue(id);
  await harness.untilReceipt(id, MARKETING);
  await worker.close(2000);
  expect(new Set(peer.requests.map((request) => toldOf(request).key))).toEqual(new Set([id]));
  // Every repeat is accounted for.
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: peer.requests.length, unknowns: peer.requests.length - 1 }]);
  expect(await contactOf(harness)).toMatchObject({ owedBy: null, told: true });
});
