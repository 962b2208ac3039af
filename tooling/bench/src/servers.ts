import { migrate } from "@toolctrl/db/migrate";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import pg from "pg";

/** Private servers, set up as in production, and one administrator's connection to each. */
export interface BenchServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly admin: pg.Pool;
  /** What a reader must know to compare the numbers with others. */
  readonly described: { readonly postgres: Record<string, string>; readonly redis: Record<string, string> };
  /** Empties Redis and rewrites its append-only file, so that no rewrite falls into a measured time. */
  emptyRedis(): Promise<void>;
  /** Empties tables. No checkpoint follows: pages that were just published are drained before the next one in production too. */
  emptyTables(...tables: string[]): Promise<void>;
  close(): Promise<void>;
}

const POSTGRES_SETTINGS = { shared_buffers: "512MB", max_wal_size: "8GB", checkpoint_timeout: "30min" };
export const REDIS_ARGS = ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"];
const SHOWN_SETTINGS = ["server_version", "fsync", "synchronous_commit", "full_page_writes", ...Object.keys(POSTGRES_SETTINGS)];

export async function startServers(): Promise<BenchServers> {
  const postgres = await startPostgres({ durable: true, settings: POSTGRES_SETTINGS });
  const server = await startRedis({ args: REDIS_ARGS });
  const databaseUrl = await makeDatabase(postgres.url);
  const admin = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  // The server may be stopped while a connection is idle; without a listener that would end the process.
  admin.on("error", () => undefined);
  const redis = new Redis(server.url);
  const emptyRedis = async (): Promise<void> => {
    await redis.flushall();
    await redis.bgrewriteaof();
    await waitFor(async () => /aof_rewrite_in_progress:0[\s\S]*aof_rewrite_scheduled:0/.test(await redis.info("persistence")), {
      what: "the append-only file to be rewritten",
    });
  };
  return {
    databaseUrl,
    redisUrl: server.url,
    admin,
    described: { postgres: await describePostgres(admin), redis: await describeRedis(redis) },
    emptyRedis,
    async emptyTables(...tables) {
      await truncate(admin, tables);
    },
    async close() {
      await redis.quit();
      await admin.end();
      await Promise.all([server.close(), postgres.close()]);
    },
  };
}

const TRIES = 5;

/** Workers that run meanwhile lock the same tables in an order of their own: PostgreSQL ends one of two that deadlock, and this one begins again. */
async function truncate(admin: pg.Pool, tables: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await admin.query(`TRUNCATE ${tables.map((table) => `"${table}"`).join(", ")}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01" || tries === TRIES) throw error;
    }
  }
}

async function makeDatabase(serverUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query("CREATE DATABASE bench");
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = "/bench";
  await migrate({ url: url.href });
  return url.href;
}

async function describePostgres(admin: pg.Pool): Promise<Record<string, string>> {
  const { rows } = await admin.query<{ name: string; value: string }>(
    "SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name",
    [SHOWN_SETTINGS],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

async function describeRedis(redis: Redis): Promise<Record<string, string>> {
  const version = /^redis_version:(.+)$/m.exec(await redis.info("server"))?.[1]?.trim() ?? "unknown";
  const settings = await Promise.all(["appendonly", "appendfsync"].map((name) => redis.config("GET", name)));
  return { version, ...Object.fromEntries(settings.map(([name, value]) => [name ?? "", value ?? ""])) };
}
