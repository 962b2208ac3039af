import { randomBytes } from "node:crypto";
import { readRedisUrl } from "@toolctrl/foundation/redis-url";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { createRedisNamespace, startRedis } from "@toolctrl/testkit/redis-server";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { Queue } from "bullmq";
import { Cluster, Redis } from "ioredis";
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
    ...redisTools,
  };
}

/** What the suite does behind the backend's back, on one server or on a cluster. */
export const redisTools: Pick<QueueHarness, "raw" | "poisonJob" | "stealLock"> = {
  raw: (options, job) =>
    withQueue(options, job.queue, async (queue) => {
      const found = await queue.getJob(job.id);
      if (found === undefined) throw new Error(`expected job ${job.id}, got none`);
      return rawJob(options, job, found);
    }),
  async poisonJob(options, id) {
    // Where the job's hash would be lies a text: the script that adds it fails.
    await withClient(options, (redis) => redis.set(`${options.prefix}:outbox.audit:${id}`, "not a hash"));
    return { queue: "outbox.audit", id, name: "test.thing.happened", data: {} };
  },
  async stealLock(options, job) {
    await withClient(options, (redis) => redis.del(`${options.prefix}:${job.queue}:${job.id}:lock`));
  },
};

function rawJob(
  options: QueueBackendOptions,
  job: { queue: string; id: string },
  found: { data: unknown; returnvalue: unknown; delay: number },
): RawJob {
  const promote = (): Promise<void> =>
    withQueue(options, job.queue, async (queue) => {
      await (await queue.getJob(job.id))?.promote();
    });
  return { data: found.data, returnvalue: found.returnvalue, delay: found.delay, promote };
}

function withQueue<T>(options: QueueBackendOptions, name: string, run: (queue: Queue) => Promise<T>): Promise<T> {
  return withClient(options, async (connection) => {
    const queue = new Queue(name, { connection, prefix: options.prefix });
    queue.on("error", () => undefined);
    try {
      return await run(queue);
    } finally {
      await queue.close();
    }
  });
}

type Where = Pick<QueueBackendOptions, "redisUrl">;

async function withClient<T>(options: Where, run: (redis: Redis | Cluster) => Promise<T>): Promise<T> {
  const address = readRedisUrl(options.redisUrl ?? "");
  if (address.kind !== "cluster") return withRedis(options, run);
  const cluster = new Cluster([...address.nodes]);
  try {
    return await run(cluster);
  } finally {
    cluster.disconnect();
  }
}

export async function withRedis<T>(options: Where, run: (redis: Redis) => Promise<T>): Promise<T> {
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
