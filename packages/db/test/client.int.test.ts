// Mostly waits: for time-outs.
import { createServer, connect, type Server, type Socket } from "node:net";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase, isDatabaseAway, transaction, violatedConstraint } from "../src/client.ts";
import { createPool } from "../src/pool.ts";
import { CONNECTION_LIMITS } from "../src/pool-config.ts";
import { publishOutboxEvent } from "../src/outbox.ts";
import { gate, openDatabase, rejection, rowsOf, TENANT } from "./support.ts";

const insertMode = `INSERT INTO "OutboxMode" ("id") VALUES ($1)`;

test("the violated constraint is named, through models, raw queries, pg and wrapped errors", async () => {
  const db = await openDatabase();
  await db.prisma.emailMessage.create({ data: { ...mail(), id: "0190a0a0-0000-7000-8000-000000000001" } });
  const cases: Array<[string, () => Promise<unknown>]> = [
    [
      "EmailMessage_pkey",
      () => db.prisma.emailMessage.create({ data: { ...mail(), id: "0190a0a0-0000-7000-8000-000000000001", effectEpoch: 1 } }),
    ],
    ["EmailMessage_eventId_effectEpoch_key", () => db.prisma.emailMessage.create({ data: mail() })],
    ["OutboxMode_pkey", () => db.prisma.$executeRawUnsafe(insertMode, 1)],
    ["OutboxMode_one_row_check", () => db.prisma.$executeRawUnsafe(insertMode, 2)],
    ["OutboxMode_one_row_check", () => db.prisma.outboxMode.create({ data: { id: 2 } })],
    ["OutboxMode_one_row_check", () => db.pool.query(insertMode, [2])],
    ["OutboxMode_pkey", () => db.pool.query(insertMode, [1])],
    [
      "EmailDelivery_messageId_fkey",
      () => db.prisma.emailDelivery.create({ data: { messageId: "0190a0a0-0000-7000-8000-00000000ffff", recipient: "r" } }),
    ],
  ];
  for (const [name, violate] of cases) {
    const error = await rejection(violate());
    expect(violatedConstraint(error)).toBe(name);
    expect(violatedConstraint(new Error("wrapped", { cause: error }))).toBe(name);
  }
  for (const other of [new Error("no"), null, "text", await rejection(db.pool.query("SELECT 1/0"))])
    expect(violatedConstraint(other)).toBeNull();
});

test("a commit that can only be a rollback is an error that names its cause, and the connection stays usable", async () => {
  const db = await openDatabase({ poolMax: 1 });
  const swallowing = db.prisma.$transaction(async (tx) => {
    await tx.idempotencyKey.create({ data: { key: "k", value: "v", expiresAt: new Date(0) } });
    await rejection(tx.$executeRawUnsafe(insertMode, 1));
    return "success";
  });
  const error = await rejection(swallowing);
  expect(error).toMatchObject({ code: "DB.TRANSACTION_ABORTED" });
  expect(violatedConstraint(error)).toBe("OutboxMode_pkey");
  expect(await rowsOf(db, `SELECT 1 FROM "IdempotencyKey"`)).toEqual([]);

  const swallowed = transaction(db.pool, async (tx) => {
    await rejection(tx.query(insertMode, [1]));
  });
  expect(await rejection(swallowed)).toMatchObject({ code: "DB.TRANSACTION_ABORTED" });
  await db.ping();
});

test("an error that a savepoint undid does not spoil the commit", async () => {
  const db = await openDatabase();
  await db.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe("SAVEPOINT s");
    await rejection(tx.$executeRawUnsafe(insertMode, 1));
    await tx.$executeRawUnsafe("ROLLBACK TO SAVEPOINT s");
    await tx.idempotencyKey.create({ data: { key: "k", value: "v", expiresAt: new Date(0) } });
  });
  await db.prisma.$transaction(async (tx) => {
    const nested = (tx as unknown as typeof db.prisma).$transaction((inner) => inner.$executeRawUnsafe(insertMode, 1));
    await rejection(nested);
  });
  expect(await rowsOf(db, `SELECT "key" FROM "IdempotencyKey"`)).toEqual([{ key: "k" }]);
});

test("a starved pool fails with a pool error within its bound, and works again when freed", async () => {
  const { url, drop } = await createTestDatabase();
  const waits: number[] = [];
  const pool = createPool({
    url,
    max: 1,
    app: "test",
    limits: { ...CONNECTION_LIMITS, connectTimeoutMs: 3_000, lockTimeoutMs: 1_000 },
    onWait: (seconds) => waits.push(seconds),
  });
  onTestFinished(async () => {
    await pool.endWithin(0);
    await drop();
  });
  const held = await pool.connect();
  expect(await rejection(pool.query("SELECT 1"))).toMatchObject({ code: "DB.POOL_TIMEOUT", facts: { max: 1, waitedMs: 3_000 } });
  expect(await rejection(transaction(pool, () => Promise.resolve()))).toMatchObject({ code: "DB.POOL_TIMEOUT" });
  held.release();
  await pool.query("SELECT 1");
  // The connection that was opened, and the two callers that got none; the last one found it idle.
  expect(waits.map((seconds) => seconds > 2)).toEqual([false, true, true]);
});

test("a statement on a connection that went silent fails, alone or in a transaction, and the connection is not lent again", async () => {
  const { url, drop } = await createTestDatabase();
  const behind = new URL(url);
  const proxy = await startTcpProxy({ toPort: Number(behind.port) });
  behind.port = String(proxy.port);
  const limits = { ...CONNECTION_LIMITS, silenceMs: 1_000 };
  const db = await createDatabase({ url: behind.href, poolMax: 3, limits, app: "test", wakeup: false });
  onTestFinished(async () => {
    await db.close(0);
    await proxy.close();
    await drop();
  });
  const [begun, silent] = [[gate(), gate()], gate()];
  const raw = rejection(transaction(db.pool, async (tx) => (begun[0]?.open(), await silent.opened, tx.query("SELECT 1"))));
  const modelled = rejection(db.prisma.$transaction(async (tx) => (begun[1]?.open(), await silent.opened, tx.outboxMode.findMany())));
  await Promise.all(begun.map(({ opened }) => opened));
  await db.pool.query("SELECT 1");
  proxy.strand();
  silent.open();
  const errors = await Promise.all([raw, modelled, rejection(db.pool.query("SELECT 1"))]);
  for (const error of errors) expect(isDatabaseAway(error), String(error)).toBe(true);
  await Promise.all([1, 2, 3].map(() => db.pool.query("SELECT 1")));
  expect(await db.prisma.outboxMode.findMany()).toHaveLength(1);
});

test("a connection that nobody uses ends without a word before it counts as silent", async () => {
  const { url, drop } = await createTestDatabase();
  const lost: unknown[] = [];
  const log = { info: () => undefined, warn: (facts: object) => void lost.push(facts), error: () => undefined };
  const pool = createPool({ url, max: 1, app: "test", log, limits: { ...CONNECTION_LIMITS, silenceMs: 300 } });
  const clock = new pg.Client({ connectionString: url });
  await clock.connect();
  onTestFinished(async () => {
    await pool.endWithin(0);
    await clock.end();
    await drop();
  });
  await pool.query("SELECT 1");
  await clock.query("SELECT pg_sleep(1)");
  expect([pool.totalCount, lost]).toEqual([0, []]);
  await expect(pool.query("SELECT pg_sleep(5)")).rejects.toMatchObject({ code: "ETIMEDOUT" });
});

test("Prisma and ping meet the same bound when one transaction holds the only connection", async () => {
  const db = await openDatabase({ poolMax: 1 });
  const holding = gate();
  const end = gate();
  const holder = db.prisma.$transaction(
    async () => {
      holding.open();
      await end.opened;
    },
    { timeout: 60_000 },
  );
  await holding.opened;
  const [ping, query, tx] = await Promise.all([
    rejection(db.ping()),
    rejection(db.prisma.outboxMode.findMany()),
    rejection(db.prisma.$transaction((inner) => inner.outboxMode.findMany())),
  ]);
  expect(ping).toMatchObject({ code: "DB.POOL_TIMEOUT" });
  expect(query).toMatchObject({ code: "DB.POOL_TIMEOUT" });
  expect(["DB.POOL_TIMEOUT", "P2028"]).toContain(tx.code);
  end.open();
  await holder;
  await db.ping();
});

test("ping fails, with the reason, where sessions are read-only, and not for longer than that lasts", async () => {
  const { url, name } = await createTestDatabase();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  onTestFinished(() => admin.end());
  await admin.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
  const db = await createDatabase({ url, poolMax: 2, app: "test", wakeup: false });
  onTestFinished(() => db.close(0));
  expect(await rejection(db.ping())).toMatchObject({ code: "DB.READ_ONLY", message: expect.stringContaining("takes writes") });
  await admin.query(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
  await waitFor(() => db.ping().then(() => true), { what: "a session that may write" });
  await db.prisma.idempotencyKey.create({ data: { key: "k", value: "v", expiresAt: new Date(0) } });
});

test.each([
  ["Europe/Moscow", "SQL, DMY"],
  ["America/New_York", "Postgres, MDY"],
])("times are exact in a database whose time zone is %s and whose date style is %s", async (zone, style) => {
  const { url, name, drop } = await createTestDatabase();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`ALTER DATABASE "${name}" SET timezone TO '${zone}'`);
  await admin.query(`ALTER DATABASE "${name}" SET datestyle TO ${style}`);
  await admin.end();
  // A session as psql opens it, in the database's own zone: what the client's sessions wrote is judged from outside.
  const outside = new pg.Client({ connectionString: url });
  await outside.connect();
  const db = await createDatabase({ url, poolMax: 2, app: "test", wakeup: false });
  onTestFinished(async () => {
    await Promise.all([db.close(0), outside.end()]);
    await drop();
  });
  expect((await outside.query<{ TimeZone: string }>("SHOW timezone")).rows).toEqual([{ TimeZone: zone }]);
  expect((await outside.query<{ DateStyle: string }>("SHOW datestyle")).rows).toEqual([{ DateStyle: style }]);

  const at = new Date(Date.now() + 60_000);
  await db.prisma.$transaction((tx) =>
    publishOutboxEvent(tx, { tenantId: TENANT, type: "shop.order.place", payload: {}, scheduledAt: at }),
  );
  await db.prisma.idempotencyKey.create({ data: { key: "model", value: "", expiresAt: at } });
  await db.prisma.$executeRaw`INSERT INTO "IdempotencyKey" VALUES ('raw', '', ${at})`;
  await db.pool.query(`INSERT INTO "IdempotencyKey" VALUES ('pg', '', $1)`, [at]);
  const stored = await outside.query<{ at: number }>(
    `SELECT extract(epoch FROM "scheduledAt")::float8 AS "at" FROM "OutboxEvent"
     UNION ALL SELECT extract(epoch FROM "expiresAt")::float8 FROM "IdempotencyKey"`,
  );
  expect(stored.rows.map((row) => row.at)).toEqual(Array.from({ length: 4 }, () => at.getTime() / 1_000));
  const rows = await db.prisma.idempotencyKey.findMany();
  expect(rows.map((row) => row.expiresAt)).toEqual([at, at, at]);
  const raw = await db.pool.query<{ expiresAt: Date }>(`SELECT "expiresAt" FROM "IdempotencyKey"`);
  expect(raw.rows.map((row) => row.expiresAt)).toEqual([at, at, at]);
  // The defaults come from the database's clock: a fresh row is due now, not hours from now.
  const due = await outside.query<{ off: number }>(
    `SELECT abs(extract(epoch FROM clock_timestamp() - "createdAt"))::float8 AS "off" FROM "OutboxEvent"`,
  );
  expect(due.rows[0]?.off).toBeLessThan(60);
});

test("options of the URL are kept, but not over UTC", async () => {
  const db = await openDatabase();
  const options = encodeURIComponent("-c timezone=Asia/Tokyo -c work_mem=5MB");
  const other = await createDatabase({
    url: `${db.url}${db.url.includes("?") ? "&" : "?"}options=${options}`,
    poolMax: 1,
    app: "test",
    wakeup: false,
  });
  onTestFinished(() => other.close(0));
  const settings = await other.pool.query(
    `SELECT current_setting('TimeZone') AS "zone", current_setting('work_mem') AS "memory",
       current_setting('lock_timeout') AS "lock", current_setting('idle_in_transaction_session_timeout') AS "idle"`,
  );
  expect(settings.rows).toEqual([{ zone: "UTC", memory: "5MB", lock: "10s", idle: "1min" }]);
});

test.each([
  ["in UTC", "timezone TO 'Europe/Moscow'", { code: "DB.NOT_UTC", facts: { zone: "Europe/Moscow", offsetSeconds: 10_800 } }],
  ["of ISO dates", "datestyle TO SQL, DMY", { code: "DB.DATE_STYLE", facts: { style: "SQL, DMY" } }],
])("a pooler that drops start-up options is refused where the database is not %s", async (_name, setting, refusal) => {
  const { url, name, drop } = await createTestDatabase();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`ALTER DATABASE "${name}" SET timezone TO 'UTC'`);
  await admin.query(`ALTER DATABASE "${name}" SET ${setting}`);
  await admin.end();
  const pooler = await startOptionDropper(new URL(url));
  onTestFinished(async () => {
    pooler.close();
    await drop();
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${pooler.port}`;
  expect(await rejection(createDatabase({ url: through.href, poolMax: 1, app: "test" }))).toMatchObject(refusal);
});

test("close is bounded while a statement runs, and a second close is harmless", async () => {
  const db = await openDatabase();
  const running = rejection(db.pool.query("SELECT pg_sleep(600)"));
  await waitFor(
    () =>
      rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()`).then(
        (rows) => rows.length,
      ),
    { what: "the statement to run" },
  );
  await Promise.all([db.close(50), db.close(50)]);
  expect(await running).toBeInstanceOf(Error);
  expect(await rejection(db.ping())).toBeInstanceOf(Error);
});

function mail() {
  return { eventId: "0190a0a0-0000-7000-8000-00000000000a", tenantId: TENANT, messageId: "m", fromAddress: "a@b.example", subject: "s" };
}

/** A proxy that, as a pooler may, drops the `options` of the start-up message and passes on all else. */
async function startOptionDropper(target: URL): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
    upstream.pipe(client);
    client.once("data", (startup) => {
      upstream.write(withoutOptions(startup));
      client.pipe(upstream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: address.port, close };
}

// Length, protocol version, then name and value pairs, each ended by a zero byte, then one more.
function withoutOptions(startup: Buffer): Buffer {
  const fields = startup.subarray(8, -2).toString("latin1").split("\0");
  const kept = fields.filter((_, index) => fields[index - (index % 2)] !== "options");
  const body = Buffer.from(`${kept.join("\0")}\0\0`, "latin1");
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8);
  startup.copy(head, 4, 4, 8);
  return Buffer.concat([head, body]);
}
