import { randomBytes } from "node:crypto";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { createRedisNamespace, startRedis } from "@toolctrl/testkit/redis-server";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import type { QueueBackendOptions } from "../src/backend.ts";
import type { OwnServer, QueueHarness, RawJob } from "../src/testing.ts";
import { createTestLog } from "./support-log.ts";

const BASE = { kind: "redis", attempts: 3, backoffMs: 20 } as const;

export function redisHarness(): QueueHarness {
  const { log, lines } = createTestLog();
  return {
    kind: "redis",
    waitFor,
    logged: () => lines,
    async namespace() {
      const { url, prefix } = createRedisNamespace();
      return { ...BASE, redisUrl: url, prefix, log };
    },
    ownServer: () => ownRedis({ ...BASE, prefix: `{own-${randomBytes(4).toString("hex")}}`, log }),
    async raw(options, job) {
      const queue = new Queue(job.queue, { connection: { url: options.redisUrl ?? "" }, prefix: options.prefix });
      queue.on("error", () => undefined);
      try {
        const found = await queue.getJob(job.id);
        if (found === undefined) throw new Error(`expected job ${job.id}, got none`);
        return rawJob(options, job, found);
      } finally {
        await queue.close();
      }
    },
    async poisonJob(options, id) {
      // Where the job's hash would be lies a text: the script that adds it fails.
      await withRedis(options, (redis) => redis.set(`${options.prefix}:outbox.audit:${id}`, "not a hash"));
      return { queue: "outbox.audit", id, name: "test.thing.happened", data: {} };
    },
    async stealLock(options, job) {
      await withRedis(options, (redis) => redis.del(`${options.prefix}:${job.queue}:${job.id}:lock`));
    },
  };
}

function rawJob(
  options: QueueBackendOptions,
  job: { queue: string; id: string },
  found: { data: unknown; returnvalue: unknown; delay: number },
): RawJob {
  const promote = async (): Promise<void> => {
    const queue = new Queue(job.queue, { connection: { url: options.redisUrl ?? "" }, prefix: options.prefix });
    queue.on("error", () => undefined);
    try {
      await (await queue.getJob(job.id))?.promote();
    } finally {
      await queue.close();
    }
  };
  return { data: found.data, returnvalue: found.returnvalue, delay: found.delay, promote };
}

export async function withRedis<T>(options: Pick<QueueBackendOptions, "redisUrl">, run: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(options.redisUrl ?? "", { maxRetriesPerRequest: 1 });
  try {
    return await run(redis);
  } finally {
    redis.disconnect();
  }
}

async function ownRedis(options: Omit<QueueBackendOptions, "redisUrl">): Promise<OwnServer> {
  const port = await findFreePort();
  const proxy = await startTcpProxy({ toPort: port });
  let server: Awaited<ReturnType<typeof startRedis>> | undefined;
  const direct = { redisUrl: `redis://127.0.0.1:${port}` };
  return {
    options: { ...options, redisUrl: `redis://127.0.0.1:${proxy.port}` },
    async start() {
      if (server === undefined) server = await startRedis({ port });
      else await server.start();
    },
    stop: async () => server?.stop(),
    cut: () => proxy.cut(),
    silence: () => proxy.pause(),
    resume: () => proxy.resume(),
    async setReadOnly(readOnly) {
      // A replica of a primary that is not there: it keeps its data and refuses writes.
      await withRedis(direct, (redis) => (readOnly ? redis.replicaof("127.0.0.1", "1") : redis.replicaof("NO", "ONE")));
    },
    async close() {
      await proxy.close();
      await server?.close();
    },
  };
}
