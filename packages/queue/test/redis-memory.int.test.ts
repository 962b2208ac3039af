import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, it } from "vitest";
import { createQueueBackend, type QueueBackendOptions } from "../src/backend.ts";
import { jobIdFor } from "../src/job-id.ts";
import type { NewJob } from "../src/port.ts";
import { createTestLog } from "./support-log.ts";
import { withRedis } from "./support-redis.ts";

const QUEUE = "outbox.audit";
const JOBS = 2000;

async function usedMemory(options: QueueBackendOptions): Promise<number> {
  return withRedis(options, async (redis) => Number(/used_memory_dataset:(\d+)/.exec(await redis.info("memory"))?.[1]));
}

it("keeps Redis small: no results, finished jobs by age and count, a short event stream", async () => {
  const server = await startRedis();
  const options: QueueBackendOptions = {
    kind: "redis",
    redisUrl: server.url,
    prefix: "{memory}",
    attempts: 1,
    backoffMs: 1,
    log: createTestLog().log,
    keep: { completed: { ageSeconds: 3600, count: 100 }, failed: { ageSeconds: 3600, count: 50 } },
  };
  const backend = await createQueueBackend(options);
  const jobs = Array.from({ length: JOBS }, (_, n): NewJob => ({ queue: QUEUE, id: jobIdFor(n), name: "t", data: { n } }));
  try {
    await backend.ping();
    const before = await usedMemory(options);
    const result = "x".repeat(100_000);
    let ended = 0;
    backend.work(
      QUEUE,
      async (job) => {
        ended += 1;
        return (job.data as { n: number }).n % 4 === 0 ? { kind: "cancel", error: new Error(result) } : { kind: "done", result };
      },
      { concurrency: 20 },
    );
    await backend.addAll(jobs);
    await waitFor(() => ended === JOBS, { timeoutMs: 30_000 });
    await waitFor(async () => (await backend.counts(QUEUE)).active === 0);
    expect(await backend.counts(QUEUE)).toEqual({ waiting: 0, active: 0, delayed: 0, completed: 100, failed: 50 });
    expect(await withRedis(options, (redis) => redis.xlen(`{memory}:${QUEUE}:events`))).toBeLessThan(1500);
    // 2,000 results of 100 kB would be 200 MB; what is kept is 150 small jobs, the events and the server's own buffers.
    expect((await usedMemory(options)) - before).toBeLessThan(5_000_000);
  } finally {
    await backend.close(1000);
    await server.close();
  }
});
