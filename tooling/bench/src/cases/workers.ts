import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { askRedis } from "@toolctrl/testkit/ask-redis";
import { startRedisCluster } from "@toolctrl/testkit/redis-cluster";
import { waitFor } from "@toolctrl/testkit/wait";
import { ATTEMPTS, BACKOFF_MS, BULK_SIZE } from "../bull-settings.ts";
import { chunksOf } from "../chunks.ts";
import type { BenchCase, Side } from "../measure.ts";
import { notificationJobs } from "../notification-jobs.ts";
import type { Telemetry } from "../quiet.ts";
import { REDIS_ARGS, type BenchServers } from "../servers.ts";
import { startWorkerProcesses, type WorkerProcesses } from "../worker-processes.ts";

const PREFIX = "{bench}";
/** What is hardly right to measure by is refused rather than waited for. */
const TIMEOUT_MS = 300_000;

type WorkerCount = 2 | 4;

/** Jobs that several processes of worker-general take from one queue on a Redis Cluster, with claim, notification and receipt; and the same with one process. */
export function workersCase(processes: WorkerCount) {
  return async (single: BenchServers, operations: number, telemetry: Telemetry): Promise<BenchCase> => {
    const cluster = await startRedisCluster({ args: REDIS_ARGS });
    const emptyRedis = async (): Promise<void> => void (await Promise.all(cluster.nodes.map(({ url }) => askRedis(url, "FLUSHALL"))));
    const servers = { ...single, redisUrl: cluster.url, emptyRedis };
    const backend = await createQueueBackend({
      kind: "redis",
      redisUrl: servers.redisUrl,
      prefix: PREFIX,
      attempts: ATTEMPTS,
      backoffMs: BACKOFF_MS,
      log: telemetry.log,
    });
    return {
      name: `workers-${processes}`,
      title: `notifications by ${processes} worker processes ÷ by one`,
      unit: "jobs",
      operations,
      target: 1,
      settings: { queue: "outbox.notification", store: "redis", masters: cluster.nodes.length, drainers: 0 },
      baseline: processesSide(servers, backend, 1, operations),
      product: processesSide(servers, backend, processes, operations),
      async close() {
        await backend.close(5000);
        await cluster.close();
      },
    };
  };
}

function processesSide(servers: BenchServers, backend: QueueBackend, count: number, operations: number): Side {
  let workers: WorkerProcesses | undefined;
  const receipts = async (): Promise<number> => {
    const { rows } = await servers.admin.query<{ n: number }>(`SELECT count(*)::int AS "n" FROM "OutboxReceipt" WHERE "outcome" = 'done'`);
    return rows[0]?.n ?? 0;
  };
  return {
    label: `${count} worker processes`,
    cpuMicros: async () => (await workers?.cpuMicros()) ?? 0,
    async prepare() {
      await servers.emptyRedis();
      await servers.emptyTables("OutboxReceipt", "Notification");
      workers = await startWorkerProcesses(servers, count, { OUTBOX_DISPATCHER_ENABLED: "false" });
    },
    async run() {
      for (const chunk of chunksOf(notificationJobs(operations), BULK_SIZE)) {
        const failed = (await backend.addAll(chunk)).find((result) => !result.ok);
        if (failed !== undefined) throw failed.error;
      }
      await waitFor(async () => (await receipts()) >= operations, { what: `${operations} receipts`, timeoutMs: TIMEOUT_MS });
    },
    async verify() {
      await workers?.close();
      workers = undefined;
      const got = await receipts();
      const { rows } = await servers.admin.query<{ n: number }>(`SELECT count(*)::int AS "n" FROM "Notification"`);
      if (got !== operations || rows[0]?.n !== operations)
        throw new Error(`expected ${operations} receipts and notifications, got ${got} and ${rows[0]?.n}`);
    },
  };
}
