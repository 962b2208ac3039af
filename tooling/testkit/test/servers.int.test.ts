import { Redis } from "ioredis";
import pg from "pg";
import { expect, test } from "vitest";
import { createRedisNamespace } from "../src/redis-server.ts";
import { createEmptyDatabase, createTestDatabase } from "../src/template-db.ts";

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

test("each test database is a migrated copy of its own", async () => {
  const [a, b] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  await query(a.url, `CREATE TABLE only_in_a ()`);
  expect(await query(b.url, `SELECT to_regclass('only_in_a')::text AS found, to_regclass('"OutboxEvent"')::text AS event`)).toEqual([
    { found: null, event: '"OutboxEvent"' },
  ]);
});

test("an empty database has no tables", async () => {
  const empty = await createEmptyDatabase();
  expect(await query(empty.url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
});

test("a dropped database is gone, its open sessions with it", async () => {
  const [dropped, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const session = new pg.Client({ connectionString: dropped.url });
  await session.connect();
  session.on("error", () => undefined);
  const ended = new Promise<void>((resolve) => session.once("end", () => resolve()));
  await dropped.drop();
  await ended;
  expect(await query(other.url, `SELECT 1 FROM pg_database WHERE datname = '${dropped.name}'`)).toEqual([]);
});

test("namespaces of the shared Redis do not meet", async () => {
  const [a, b] = [createRedisNamespace(), createRedisNamespace()];
  expect(a.prefix).toMatch(/^\{.+\}$/);
  expect(a.prefix).not.toBe(b.prefix);
  const redis = new Redis(a.url);
  expect(await redis.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
  await redis.quit();
});
