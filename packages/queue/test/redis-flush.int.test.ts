import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, it } from "vitest";
import { createQueueBackend } from "../src/backend.ts";
import { jobIdFor } from "../src/job-id.ts";
import { createTestLog } from "./support-log.ts";
import { withRedis } from "./support-redis.ts";

const QUEUE = "outbox.audit";

it("goes on after a flush: a worker takes what is added next, and the old id can be added again", async () => {
  const server = await startRedis();
  const options = { kind: "redis", redisUrl: server.url, prefix: "{flush}", attempts: 2, backoffMs: 1, log: createTestLog().log } as const;
  const backend = await createQueueBackend(options);
  try {
    const seen: string[] = [];
    backend.work(QUEUE, async (job) => (seen.push(job.id), { kind: "done" }), { concurrency: 2 });
    const job = { queue: QUEUE, id: jobIdFor("e"), name: "t", data: {} } as const;
    await backend.addAll([job]);
    await waitFor(() => seen.length === 1);
    await withRedis(options, (redis) => redis.flushall());
    expect(await backend.find(QUEUE, job.id)).toBeNull();
    await backend.addAll([job, { ...job, id: jobIdFor("next") }]);
    await waitFor(() => seen.length === 3);
  } finally {
    await backend.close(1000);
    await server.close();
  }
});
