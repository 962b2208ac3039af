import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { askRedis } from "@toolctrl/testkit/ask-redis";
import { startRedisCluster } from "@toolctrl/testkit/redis-cluster";
import { waitFor } from "@toolctrl/testkit/wait";
import { ATTEMPTS, BACKOFF_MS, BULK_SIZE } from "../bull-settings.ts";
import { chunksOf } from "../chunks.ts";
import type { BenchCase, Side } from "../measure.ts";
import type { Telemetry } from "../quiet.ts";
import { REDIS_ARGS, type BenchServers } from "../servers.ts";
import { openMails } from "../work/mails.ts";
import { openNotifications } from "../work/notifications.ts";
import type { Work } from "../work/work.ts";
import { startWorkerProcesses, type WorkerProcesses } from "../worker-processes.ts";

const PREFIX = "{bench}";
/** What is hardly right to measure by is refused rather than waited for. */
const TIMEOUT_MS = 300_000;

const WORKS = { workers: openNotifications, mails: openMails } as const;

interface Scaled {
  readonly work: keyof typeof WORKS;
  readonly processes: 2 | 4;
  /** The ratio that is aimed at. */
  readonly target: number;
}

/** Jobs that several processes of an app take from its queues on a Redis Cluster, with claims, effects and receipts; and the same with one process. */
export function workersCase({ work: kind, processes, target }: Scaled) {
  return async (single: BenchServers, operations: number, telemetry: Telemetry): Promise<BenchCase> => {
    const cluster = await startRedisCluster({ args: REDIS_ARGS });
    const emptyRedis = async (): Promise<void> => void (await Promise.all(cluster.nodes.map(({ url }) => askRedis(url, "FLUSHALL"))));
    const servers = { ...single, redisUrl: cluster.url, emptyRedis };
    const work = await WORKS[kind](servers);
    const backend = await createQueueBackend({
      kind: "redis",
      redisUrl: servers.redisUrl,
      prefix: PREFIX,
      attempts: ATTEMPTS,
      backoffMs: BACKOFF_MS,
      log: telemetry.log,
    });
    return {
      name: `${kind}-${processes}`,
      title: `${work.title} by ${processes} processes of ${work.app} ÷ by one`,
      unit: "jobs",
      operations,
      target,
      settings: { ...work.about, masters: cluster.nodes.length },
      baseline: processesSide({ servers, backend, work, count: 1, operations }),
      product: processesSide({ servers, backend, work, count: processes, operations }),
      async close() {
        await backend.close(5000);
        await work.close();
        await cluster.close();
      },
    };
  };
}

interface SideOptions {
  readonly servers: BenchServers;
  readonly backend: QueueBackend;
  readonly work: Work;
  readonly count: number;
  readonly operations: number;
}

function processesSide({ servers, backend, work, count, operations }: SideOptions): Side {
  const { app, settings, consumer, tables } = work;
  let workers: WorkerProcesses | undefined;
  const receipts = async (): Promise<number> => {
    const sql = `SELECT count(*)::int AS "n" FROM "OutboxReceipt" WHERE "outcome" = 'done' AND "consumer" = $1`;
    return (await servers.admin.query<{ n: number }>(sql, [consumer])).rows[0]?.n ?? 0;
  };
  return {
    label: `${count} processes of ${app}`,
    cpuMicros: async () => (await workers?.cpuMicros()) ?? 0,
    async prepare() {
      await servers.emptyRedis();
      await servers.emptyTables("OutboxReceipt", ...tables);
      workers = await startWorkerProcesses(servers, { app, count, settings });
    },
    async run() {
      for (const chunk of chunksOf(work.jobs(operations), BULK_SIZE)) {
        const failed = (await backend.addAll(chunk)).find((result) => !result.ok);
        if (failed !== undefined) throw failed.error;
      }
      await waitFor(async () => (await receipts()) >= operations, { what: `${operations} receipts`, timeoutMs: TIMEOUT_MS });
    },
    async verify() {
      await workers?.close();
      workers = undefined;
      const [ended, effects] = [await receipts(), await work.takeEffects()];
      if (ended !== operations || effects !== operations)
        throw new Error(`expected ${operations} receipts and ${work.title}, got ${ended} and ${effects}`);
    },
  };
}
