import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { waitFor } from "@toolctrl/testkit/wait";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createPostgresStore } from "../src/postgres.ts";
import { openPostgresFixture } from "./fixtures.ts";

const UNAVAILABLE = { code: "STORE.UNAVAILABLE", retry: true };

let fixture: Awaited<ReturnType<typeof openPostgresFixture>>;
beforeAll(async () => {
  fixture = await openPostgresFixture();
});
afterAll(() => fixture.close());

it("survives the end of its connections and serves again without a restart", async () => {
  await fixture.store.ping();
  await fixture.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  expect(await waitFor(() => fixture.store.setIfAbsent("after", "a", 60_000), { what: "the store to recover" })).toBe(true);
});

it("refuses within its bound when the server accepts and says nothing", async () => {
  const silent = createServer((socket) => void socket.resume().on("error", () => undefined));
  await once(silent.listen(0, "127.0.0.1"), "listening");
  const pool = new Pool({ host: "127.0.0.1", port: (silent.address() as AddressInfo).port, user: "u", database: "d" });
  const store = createPostgresStore({ pool, timeoutMs: 100 });
  await expect(store.setIfAbsent("k", "v", 1_000)).rejects.toMatchObject(UNAVAILABLE);
  await store.close();
  await pool.end();
  silent.close();
});

it("refuses within its bound when another session holds the row", async () => {
  const holder = await fixture.pool.connect();
  const store = createPostgresStore({ pool: fixture.pool, timeoutMs: 1_000 });
  try {
    await store.setIfAbsent("held", "a", 60_000);
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM "IdempotencyKey" WHERE "key" = 'held' FOR UPDATE`);
    await expect(store.compareAndSet("held", "a", "b", 60_000)).rejects.toMatchObject(UNAVAILABLE);
    await holder.query("ROLLBACK");
    expect(await store.compareAndSet("held", "a", "b", 60_000)).toBe(true);
  } finally {
    holder.release();
    await store.close();
  }
});

it("turns readiness red on a server that takes no writes", async () => {
  const store = createPostgresStore({ pool: fixture.pool });
  const readOnly = new Pool({ ...fixture.pool.options, options: "-c default_transaction_read_only=on" });
  const replica = createPostgresStore({ pool: readOnly });
  await store.ping();
  await expect(replica.ping()).rejects.toMatchObject(UNAVAILABLE);
  await expect(replica.setIfAbsent("k", "v", 1_000)).rejects.toMatchObject(UNAVAILABLE);
  await Promise.all([store.close(), replica.close(), readOnly.end()]);
});

it("decides by the server's clock, whatever the zone of its session", async () => {
  const zoned = new Pool({ ...fixture.pool.options, options: "-c timezone=America/New_York" });
  const store = createPostgresStore({ pool: zoned });
  await store.setIfAbsent("zoned", "a", 60_000);
  const { rows } = await fixture.pool.query<{ left: number }>(
    `SELECT extract(epoch FROM "expiresAt" - clock_timestamp())::float8 AS "left" FROM "IdempotencyKey" WHERE "key" = 'zoned'`,
  );
  expect(rows[0]?.left).toBeGreaterThan(0);
  expect(rows[0]?.left).toBeLessThanOrEqual(60);
  expect(await fixture.store.setIfAbsent("zoned", "b", 60_000)).toBe(false);
  await Promise.all([store.close(), zoned.end()]);
});
