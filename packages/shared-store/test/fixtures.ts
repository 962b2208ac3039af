import { createTestDatabase } from "@toolctrl/testkit/template-db";
import type { RedisCluster } from "@toolctrl/testkit/redis-cluster";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { startTcpProxy, type TcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { createPostgresStore } from "../src/postgres.ts";
import { createRedisStore } from "../src/redis.ts";
import type { StoreFixture } from "../src/testing.ts";

/** The Redis adapter on a server of its own: the suites flush it. */
export async function openRedisFixture(): Promise<StoreFixture & { url: string }> {
  const server = await startRedis();
  const proxy = await startTcpProxy({ toPort: server.port });
  const admin = new Redis(server.url);
  const store = createRedisStore({ url: `redis://127.0.0.1:${proxy.port}` });
  return {
    url: server.url,
    store,
    expire: async (key) => void (await admin.pexpire(key, 0)),
    flush: async () => void (await admin.flushall()),
    strand: () => proxy.strand(),
    async close() {
      await store.close();
      await proxy.close();
      await admin.quit();
      await server.close();
    },
  };
}

/** The Redis adapter on a cluster, which is the caller's, as are the proxies in front of its nodes. The port's suite uses keys without a hash tag: they lie on every node. */
export async function openClusterFixture(cluster: RedisCluster, proxies: readonly TcpProxy[]): Promise<StoreFixture> {
  const admins = cluster.nodes.map(({ url }) => new Redis(url));
  const store = createRedisStore({ url: cluster.url, prefix: "{suite}" });
  return {
    store,
    async expire(key) {
      // Its node expires it, the others refuse.
      const answers = await Promise.allSettled(admins.map((admin) => admin.pexpire(key, 0)));
      if (answers.every(({ status }) => status === "rejected")) throw new Error(`expected a node to have the slot of ${key}, got none`);
    },
    flush: async () => void (await Promise.all(admins.map((admin) => admin.flushall()))),
    strand: () => proxies.forEach((proxy) => proxy.strand()),
    async close() {
      await store.close();
      await Promise.all(admins.map((admin) => admin.quit()));
    },
  };
}

/** The Postgres adapter on a database of its own. */
export async function openPostgresFixture(): Promise<StoreFixture & { url: string; pool: Pool }> {
  const database = await createTestDatabase();
  const pool = new Pool({ connectionString: database.url, max: 2 });
  const behind = new URL(database.url);
  const proxy = await startTcpProxy({ toPort: Number(behind.port) });
  behind.port = String(proxy.port);
  const store = createPostgresStore({ pool: new Pool({ connectionString: behind.href }) });
  return {
    url: database.url,
    pool,
    store,
    expire: async (key) =>
      void (await pool.query(`UPDATE "IdempotencyKey" SET "expiresAt" = clock_timestamp() - interval '1 ms' WHERE "key" = $1`, [key])),
    flush: async () => void (await pool.query(`DELETE FROM "IdempotencyKey"`)),
    strand: () => proxy.strand(),
    async close() {
      await store.close();
      await proxy.close();
      await pool.end();
      await database.drop();
    },
  };
}

export const ADAPTERS = [
  ["redis", openRedisFixture],
  ["postgres", openPostgresFixture],
] as const satisfies ReadonlyArray<readonly [string, () => Promise<StoreFixture>]>;
