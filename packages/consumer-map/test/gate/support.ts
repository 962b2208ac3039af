import { createDatabase, type Database } from "@toolctrl/db/client";
import type { RetryHorizonSettings } from "@toolctrl/outbox-receiver/horizon";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createLogger } from "@toolctrl/runtime/logger";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";
import type { GateDeps } from "../../src/gate.ts";

/** A migrated database of its own. */
export async function openDatabase(): Promise<Database> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 3, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  return database;
}

export async function startedRedis(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  onTestFinished(() => server.close());
  return server;
}

export async function backendOn(redisUrl: string): Promise<QueueBackend> {
  const log = createLogger({ app: "test", level: "silent" });
  const backend = await createQueueBackend({ kind: "redis", redisUrl, prefix: "{gate}", attempts: 1, backoffMs: 1, log });
  onTestFinished(() => backend.close(1000));
  return backend;
}

/** A queue's server that loses nothing. */
export const harmless: GateDeps["backend"] = {
  evictionPolicy: async () => ({ kind: "known", policy: null }),
  persistence: async () => ({ kind: "known", appendOnly: null }),
};

/** The product's own settings. */
export const HORIZON: RetryHorizonSettings = {
  resultTtlSeconds: 86_400,
  dispatcher: { maxRetries: 6, backoffMinutes: [1, 2, 4, 8, 16, 32], leaseMs: 300_000 },
  queue: { attempts: 8, backoffMs: 5000 },
  marginSeconds: 600,
};
