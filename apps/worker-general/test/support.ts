import { createDatabase, type Database } from "@toolctrl/db/client";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createLogger } from "@toolctrl/runtime/logger";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";

export interface Installation {
  readonly database: Database;
  readonly env: Readonly<Record<string, string>>;
}

/** A database and a queue of its own for one test, and the environment that says so. */
export async function openInstallation(kind: "redis" | "postgres" = "redis"): Promise<Installation> {
  const { url } = await createTestDatabase();
  const redis = createRedisNamespace();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  return {
    database,
    env: {
      DATABASE_URL: url,
      QUEUE_BACKEND: kind,
      ...(kind === "redis" ? { REDIS_URL: redis.url } : {}),
      QUEUE_PREFIX: redis.prefix,
      OUTBOX_DISPATCHER_ENABLED: "true",
      OUTBOX_DISPATCH_INTERVAL_MS: "50",
      OUTBOX_RECEIVER_BACKOFF_MS: "50",
      LOG_LEVEL: "info",
    },
  };
}

/** The queue of an installation on Redis, as one of its processes has it. */
export async function openBackendOf({ env }: Installation): Promise<QueueBackend> {
  const where = { kind: "redis", redisUrl: env["REDIS_URL"], prefix: env["QUEUE_PREFIX"] ?? "" } as const;
  const backend = await createQueueBackend({ ...where, attempts: 1, backoffMs: 1, log: createLogger({ app: "test", level: "silent" }) });
  onTestFinished(() => backend.close(500));
  return backend;
}

/** Starts worker-general as a process of its own and waits until it serves. */
export async function startWorker(installation: Installation, env: Record<string, string> = {}): Promise<ChildHandle> {
  const worker = spawnNode(new URL("../src/main.ts", import.meta.url), { env: { ...installation.env, ...env } });
  await worker.waitForLine(/health server listens/);
  return worker;
}
