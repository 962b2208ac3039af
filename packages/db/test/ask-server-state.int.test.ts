import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase, isDatabaseAway } from "../src/client.ts";
import { askServerState } from "../src/ask-server-state.ts";
import { rejection } from "./support.ts";

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
  expect(await askServerState(pool)).toBe("serving");
  proxy.cut();
  expect(await askServerState(pool)).toBe("serving");
  client.release(true);
  const { hostname, port, username, password, pathname } = url;
  const parts = { host: hostname, port: Number(port), user: username, password, database: pathname.slice(1) };
  expect(await askServerState(poolOf(parts))).toBe("serving");
});

test("a server that refuses this user, or has no such database, is there", async () => {
  const { url } = await proxied();
  url.pathname = "/none";
  expect(await askServerState(poolOf({ connectionString: url.href }))).toBe("serving");
});

test("one that refuses connections, or does not answer, is away until it takes them again", async () => {
  const { proxy, url } = await proxied();
  const pool = poolOf({ connectionString: url.href });
  await proxy.refuse();
  expect(await askServerState(pool)).toBe("away");
  await proxy.resume();
  expect(await askServerState(pool)).toBe("serving");
  proxy.pause();
  expect(await askServerState(pool)).toBe("away");
});

test("one that takes no writes is read-only until it does", async () => {
  const { url, name } = await createTestDatabase();
  const pool = poolOf({ connectionString: url });
  await pool.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
  expect(await askServerState(pool)).toBe("read-only");
  await pool.query(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
  expect(await askServerState(pool)).toBe("serving");
});

test("what a server that takes no writes, is full or stops answers is known, over Prisma and over pg, alone or in a transaction", async () => {
  const { url } = await createTestDatabase();
  const readOnly = await createDatabase({
    url: `${url}?options=-c%20default_transaction_read_only%3Don`,
    poolMax: 2,
    app: "test",
    wakeup: false,
  });
  onTestFinished(() => readOnly.close(0));
  const { prisma, pool } = readOnly;
  const key = { key: "k", value: "v", expiresAt: new Date(0) };
  const full = `DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$`;
  const failures: Array<() => Promise<unknown>> = [
    () => prisma.idempotencyKey.create({ data: key }),
    () => prisma.$executeRawUnsafe(`DELETE FROM "OutboxEvent"`),
    () => prisma.$transaction((tx) => tx.idempotencyKey.create({ data: key })),
    () => pool.query(`DELETE FROM "OutboxEvent"`),
    () => prisma.$executeRawUnsafe(full),
    () => pool.query(full),
    () => prisma.$queryRawUnsafe("SELECT pg_terminate_backend(pg_backend_pid())"),
  ];
  for (const fail of failures) expect(isDatabaseAway(await rejection(fail())), String(fail)).toBe(true);
  expect(isDatabaseAway(await rejection(prisma.$executeRawUnsafe("SELECT 1/0")))).toBe(false);
});
