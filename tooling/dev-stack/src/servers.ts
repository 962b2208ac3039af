import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Scope } from "@toolctrl/runtime/run";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import { findRedisServer, startRedis } from "@toolctrl/testkit/redis-server";
import type { StackEnv } from "./env.ts";

export interface Servers {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly backend: "redis" | "postgres";
  /** One line for the person: what runs, and why. */
  readonly told: string[];
}

/** Starts what the person did not bring: PostgreSQL from npm under the data folder, and a private Redis where a binary is there. */
export async function startServers(scope: Scope, env: StackEnv, dataDir: string): Promise<Servers> {
  await mkdir(dataDir, { recursive: true });
  const told: string[] = [];
  const [databaseUrl, redisUrl] = await Promise.all([database(scope, env, dataDir, told), redis(scope, env, dataDir, told)]);
  const backend = env.QUEUE_BACKEND ?? (redisUrl === undefined ? "postgres" : "redis");
  told.push(`Queue      BullMQ on ${backend === "redis" ? "Redis" : "PostgreSQL"}`);
  return { databaseUrl, redisUrl: backend === "redis" ? redisUrl : undefined, backend, told };
}

async function database(scope: Scope, env: StackEnv, dataDir: string, told: string[]): Promise<string> {
  if (env.DATABASE_URL !== undefined) {
    told.push("Database   yours (DATABASE_URL)");
    return env.DATABASE_URL;
  }
  const serverLog = createWriteStream(join(dataDir, "postgres.log"));
  // The server's own lines start with a time; the others are for the person (a checkout that `postgres` may not read, for one).
  const log = (line: string): void => void (/^\d{4}-\d\d-\d\d /.test(line) ? serverLog.write(`${line}\n`) : told.push(line));
  const postgres = await startPostgres({ dir: join(dataDir, "postgres"), durable: true, log });
  scope.add("postgres", { close: () => postgres.close() });
  told.push(`Database   embedded PostgreSQL on port ${postgres.port}`);
  return postgres.url;
}

async function redis(scope: Scope, env: StackEnv, dataDir: string, told: string[]): Promise<string | undefined> {
  if (env.QUEUE_BACKEND === "postgres") return undefined;
  if (env.REDIS_URL !== undefined) {
    told.push("Redis      yours (REDIS_URL)");
    return env.REDIS_URL;
  }
  if ((await findRedisServer()) === null) {
    told.push("Redis      none: no redis-server or valkey-server in PATH, so the queue runs on PostgreSQL");
    return undefined;
  }
  const server = await startRedis({ dir: join(dataDir, "redis"), args: ["--appendonly", "yes"] });
  scope.add("redis", { close: () => server.close() });
  told.push(`Redis      private server on port ${server.port}`);
  return server.url;
}
