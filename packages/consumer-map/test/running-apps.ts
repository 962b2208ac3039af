import { randomBytes } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { spawnNode } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";

/** The worker apps, as their main files compose them, on an installation of their own. */
export interface RunningApps {
  readonly database: Database;
  /** The queues on which some worker waits for jobs, by what Redis says of its connections. */
  waitingQueues(): Promise<string[]>;
}

const MAINS = ["worker-general", "worker-mail"].map((app) => new URL(`../../../apps/${app}/src/main.ts`, import.meta.url));

/** Starts both worker apps and waits until they serve. Nothing listens where they would send to: they are asked for no work. */
export async function startApps(): Promise<RunningApps> {
  const { url } = await createTestDatabase();
  const namespace = createRedisNamespace();
  const database = await createDatabase({ url, poolMax: 2, app: "test", wakeup: false });
  const redis = new Redis(namespace.url);
  onTestFinished(async () => {
    await redis.quit();
    await database.close();
  });
  const env = {
    NODE_ENV: "test",
    DATABASE_URL: url,
    QUEUE_BACKEND: "redis",
    REDIS_URL: namespace.url,
    QUEUE_PREFIX: namespace.prefix,
    SMTP_URL: "smtp://127.0.0.1:1",
    MAIL_FROM: "noreply@toolctrl.test",
    WEBHOOK_SECRETS_KEY: randomBytes(32).toString("base64"),
  };
  const apps = MAINS.map((main) => spawnNode(main, { env }));
  for (const app of apps) await app.waitForLine(/health server listens/);
  return {
    database,
    async waitingQueues() {
      const clients = String(await redis.client("LIST")).split("\n");
      // A worker names its waiting connection after its queue.
      const names = clients.flatMap((line) => (line.includes(" cmd=bzpopmin ") ? (/ name=(\S*)/.exec(line)?.[1] ?? []) : []));
      return names
        .filter((name) => name.startsWith(`${namespace.prefix}:`))
        .map((name) => Buffer.from(name.slice(namespace.prefix.length + 1), "base64").toString())
        .sort();
    },
  };
}

/** Waits for the workers of these queues to wait for jobs. Ends with the queues that others wait on as well. */
export async function untilWaiting(apps: RunningApps, queues: readonly string[]): Promise<string[]> {
  await waitFor(async () => (await apps.waitingQueues()).length >= queues.length, { what: `workers to wait on ${queues.join(", ")}` });
  return apps.waitingQueues();
}
