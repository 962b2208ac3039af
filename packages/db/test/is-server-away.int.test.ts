import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { isServerAway } from "../src/is-server-away.ts";

function poolOf(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...config, max: 1 });
  onTestFinished(() => pool.end());
  return pool;
}

async function proxied() {
  const { url } = await createTestDatabase();
  const target = new URL(url);
  const proxy = await startTcpProxy({ toPort: Number(target.port) });
  onTestFinished(() => proxy.close());
  target.port = String(proxy.port);
  return { proxy, url: target };
}

test("a server that answers is there, also for a pool that is used up or broken, or names no URL", async () => {
  const { proxy, url } = await proxied();
  const pool = poolOf({ connectionString: url.href });
  const client = await pool.connect();
  client.on("error", () => undefined);
  expect(await isServerAway(pool)).toBe(false);
  proxy.cut();
  expect(await isServerAway(pool)).toBe(false);
  client.release(true);
  const { hostname, port, username, password, pathname } = url;
  const parts = { host: hostname, port: Number(port), user: username, password, database: pathname.slice(1) };
  expect(await isServerAway(poolOf(parts))).toBe(false);
});

test("a server that refuses this user, or has no such database, is there", async () => {
  const { url } = await proxied();
  url.pathname = "/none";
  expect(await isServerAway(poolOf({ connectionString: url.href }))).toBe(false);
});

test("one that refuses connections, or does not answer, is away until it takes them again", async () => {
  const { proxy, url } = await proxied();
  const pool = poolOf({ connectionString: url.href });
  await proxy.refuse();
  expect(await isServerAway(pool)).toBe(true);
  await proxy.resume();
  expect(await isServerAway(pool)).toBe(false);
  proxy.pause();
  expect(await isServerAway(pool)).toBe(true);
});
