import { randomUUID } from "node:crypto";
import type { QueueBackend } from "@toolctrl/queue/port";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createReceiptsCheck } from "../src/checks/receipts.ts";
import { backendOn, complaintsOf, examine, openDatabase, openPool, startedRedis } from "./support.ts";
import { startTransactionPooler } from "./transaction-pooler.ts";

const OF_DATABASE = [
  "environment",
  "database",
  "time zone",
  "pooler mode",
  "database clock",
  "migrations",
  "schema",
  "record keys",
  "indexes",
];
const OF_REDIS = ["queue server", "eviction policy", "persistence", "queue memory", "queue clock"];
const OF_WHAT_RUNS = ["result TTL", "drainers", "consumers", "retention", "receipts"];
const ALL = [...OF_DATABASE, "autovacuum", "long transactions", ...OF_REDIS, ...OF_WHAT_RUNS];

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis({ args: ["--appendonly", "yes"] });
});
afterAll(() => redis.close());
afterEach(() => void vi.useRealTimers());

const goodBackend = (): Promise<QueueBackend> => backendOn(redis.url);
const containing = (text: RegExp): string => expect.stringMatching(text) as string;

test("a good installation has nothing to complain of, and says what it found in a fixed order", async () => {
  const results = await examine({ ...(await openDatabase()), backend: await goodBackend() });
  expect(complaintsOf(results)).toEqual({});
  expect(results.map(({ name, fix }) => `${name}: ${fix ?? "nothing to do"}`)).toEqual(ALL.map((name) => `${name}: nothing to do`));
});

test("an installation without Redis has nothing to complain of", async () => {
  const database = await openDatabase();
  await database.pool.query(`UPDATE "OutboxDrainer" SET "queueBackend" = 'postgres'`);
  expect(complaintsOf(await examine({ ...database, backend: await backendOn(database.url) }))).toEqual({});
});

describe("of the tables", () => {
  test("an index that is not valid, a column that is gone, one of another type and a vacuum that is off are each named", async () => {
    const database = await openDatabase();
    await database.pool.query(`ALTER TABLE "OutboxIntent" DROP COLUMN "lastError"`);
    await database.pool.query(`ALTER TABLE "OutboxReceipt" ALTER COLUMN "detail" TYPE varchar(10)`);
    await database.pool.query(`ALTER TABLE "OutboxEvent" SET (autovacuum_enabled = off)`);
    // Last, as writing a table anew mends its indexes.
    await database.pool.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"OutboxReceipt_retention_idx"'::regclass`);
    const results = await examine({ ...database, backend: await goodBackend() });
    expect(complaintsOf(results)).toEqual({
      "indexes fail": containing(/"OutboxReceipt_retention_idx"/),
      "schema fail": containing(/OutboxIntent\.lastError is missing.+OutboxReceipt\.detail to be "text", got "character varying\(10\)"/),
      "autovacuum fail": containing(/switched off/),
    });
    expect(results.find(({ name }) => name === "indexes")?.fix).toBe(`REINDEX INDEX CONCURRENTLY "OutboxReceipt_retention_idx";`);
  });

  test("a migration that is not applied and keys that are not backfilled are told apart from each other", async () => {
    const database = await openDatabase();
    await database.pool.query(`DELETE FROM "_prisma_migrations" WHERE "migration_name" LIKE '%_held_idx_comment'`);
    await database.pool.query(`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check",
      ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`);
    expect(complaintsOf(await examine({ ...database, backend: await goodBackend() }))).toEqual({
      "migrations fail": containing(/1 that are not: \d+_held_idx_comment/),
      "record keys warn": containing(/not validated/),
    });
  });

  test("a constraint of record keys that is gone is a failure, as events may lack their key", async () => {
    const database = await openDatabase();
    await database.pool.query(`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check"`);
    expect(complaintsOf(await examine({ ...database, backend: await goodBackend() }))).toEqual({
      "record keys fail": containing(/got no constraint/),
    });
  });

  test("a transaction that is open for too long is named with its session", async () => {
    const database = await openDatabase();
    const client = await openPool(database.url).connect();
    try {
      await client.query(`SET application_name = 'forgotten'; BEGIN; SELECT 1`);
      const complaints = complaintsOf(await examine({ ...database, backend: await goodBackend(), maxTransactionMs: 1 }));
      expect(complaints).toEqual({ "long transactions fail": containing(/process \d+ \(forgotten\) for \d+ s/) });
    } finally {
      client.release(true);
    }
  });
});

describe("of the connections", () => {
  test("a pooler in transaction mode is found on the direct URL, and sessions that are not in UTC behind it", async () => {
    const database = await openDatabase();
    await database.pool.query(`ALTER DATABASE "${new URL(database.url).pathname.slice(1)}" SET timezone = 'America/New_York'`);
    const url = await startTransactionPooler(database.url);
    expect(complaintsOf(await examine({ url, directUrl: url, pool: openPool(url), backend: await goodBackend() }))).toEqual({
      "pooler mode fail": containing(/DATABASE_DIRECT_URL.+pooler in transaction mode/),
      "time zone fail": containing(/UTC, got America\/New_York/),
    });
  });

  test("dates that sessions write in another form than ISO 8601 are found, as a pooler lets them", async () => {
    const database = await openDatabase();
    await database.pool.query(`ALTER DATABASE "${new URL(database.url).pathname.slice(1)}" SET datestyle = SQL, DMY`);
    const backend = await goodBackend();
    expect(complaintsOf(await examine({ ...database, backend }))).toEqual({});
    const pool = openPool(await startTransactionPooler(database.url));
    expect(complaintsOf(await examine({ ...database, pool, backend }))).toMatchObject({
      "time zone fail": containing(/date style to be ISO, got SQL, DMY/),
    });
  });

  test("without a direct URL such a pooler costs the wake-ups; another default time zone is another program's danger", async () => {
    const database = await openDatabase();
    const backend = await goodBackend();
    const url = await startTransactionPooler(database.url);
    expect(complaintsOf(await examine({ url, pool: openPool(url), backend }))).toEqual({
      "pooler mode warn": containing(/expected DATABASE_DIRECT_URL/),
    });
    await database.pool.query(`ALTER DATABASE "${new URL(database.url).pathname.slice(1)}" SET timezone = 'America/New_York'`);
    expect(complaintsOf(await examine({ url: database.url, pool: openPool(database.url), backend }))).toEqual({
      "time zone warn": containing(/got America\/New_York; the product's own are in UTC/),
    });
  });

  test.each(["DATABASE_URL", "DATABASE_DIRECT_URL"])(
    "a pooler in statement mode is a failure of %s, as it takes no transaction",
    async (name) => {
      const { url, pool } = await openDatabase();
      const pooled = await startTransactionPooler(url, { statementMode: true });
      const urls = name === "DATABASE_URL" ? { url: pooled, directUrl: url } : { url, directUrl: pooled };
      expect(complaintsOf(await examine({ ...urls, pool, backend: await goodBackend() }))).toMatchObject({
        "pooler mode fail": containing(new RegExp(`expected ${name} to take transactions, got a pooler in statement mode`)),
      });
    },
  );

  test("a direct URL that leads to another database is a failure, and one past the pooler of the same database is none", async () => {
    const [{ url, pool }, clone, backend] = [await openDatabase(), await openDatabase(), await goodBackend()];
    expect(complaintsOf(await examine({ url, directUrl: clone.url, pool, backend }))).toEqual({
      "pooler mode fail": containing(/to lead to one database, got two/),
    });
    const pooled = await startTransactionPooler(url);
    expect(complaintsOf(await examine({ url: pooled, directUrl: url, pool: openPool(pooled), backend }))).toEqual({});
  });

  test("a clock that is wrong is named against both servers", async () => {
    const [database, backend] = [await openDatabase(), await goodBackend()];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 90_000 });
    expect(complaintsOf(await examine({ ...database, backend }))).toEqual({
      "database clock fail": containing(/within 2000 ms.+got [6-9]\d{4} ms/),
      "queue clock fail": containing(/within 2000 ms.+got [6-9]\d{4} ms/),
    });
  });

  test("a database that answers and takes no writes is a failure", async () => {
    const { url, pool } = await openDatabase();
    await pool.query(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET default_transaction_read_only = on`);
    expect(complaintsOf(await examine({ url, pool: openPool(url), backend: await goodBackend() }))).toEqual({
      "database fail": containing(/takes writes, got one whose sessions are read-only/),
    });
  });

  test("a database that is away is a failure, what it would have told is unknown, and the rest is answered", async () => {
    const url = "postgres://nobody:secret@127.0.0.1:1/x";
    const results = await examine({ url, pool: openPool(url), backend: await goodBackend() });
    expect(complaintsOf(results)).toMatchObject({
      "database fail": containing(/expected the database to answer, got: .*ECONNREFUSED/),
      "schema unknown": containing(/could not be asked: .*ECONNREFUSED/),
    });
    expect(results.filter(({ state }) => state === "ok").map(({ name }) => name)).toEqual([...OF_REDIS, "result TTL"]);
    expect(JSON.stringify(results)).not.toContain("secret");
  });
});

describe("of Redis", () => {
  test("a policy that evicts, a missing append-only file and a full memory are each named", async () => {
    const evicting = await startedRedis("--appendonly", "no", "--maxmemory-policy", "allkeys-lru", "--maxmemory", "1mb");
    expect(complaintsOf(await examine({ ...(await openDatabase()), backend: await backendOn(evicting.url) }))).toEqual({
      "eviction policy fail": containing(/noeviction.+allkeys-lru/),
      "persistence fail": containing(/appendonly yes.+got no/),
      "queue memory fail": containing(/expected Redis to have room/),
    });
  });

  test("where nobody may ask it the answers are unknown; away, it is a failure and they are unknown", async () => {
    const database = await openDatabase();
    const silent = await startedRedis("--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config", "-info");
    expect(complaintsOf(await examine({ ...database, backend: await backendOn(silent.url) }))).toEqual({
      "queue server unknown": containing(/version of Redis is unknown.+NOPERM/),
      "eviction policy unknown": containing(/NOPERM/),
      "persistence unknown": containing(/NOPERM/),
      "queue memory unknown": containing(/NOPERM/),
    });
    expect(complaintsOf(await examine({ ...database, backend: await backendOn("redis://127.0.0.1:1") }))).toMatchObject({
      "queue server fail": containing(/expected the queue's server to answer/),
      "eviction policy unknown": expect.any(String),
      "queue clock unknown": expect.any(String),
    });
  });
});

describe("of what runs", () => {
  test("a result that is forgotten too early, a consumer that nobody runs and a queue of another prefix are each named", async () => {
    const database = await openDatabase();
    await database.pool.query(
      `UPDATE "OutboxDrainer" SET "consumers" = array_remove("consumers", 'email-send'), "queuePrefix" = '{other}', "vote" = 'true', "blockers" = '{no proof}'`,
    );
    const horizon = {
      resultTtlSeconds: 3600,
      dispatcher: { maxRetries: 6, backoffMinutes: [1, 2, 4, 8, 16, 32], leaseMs: 300_000 },
      queue: { attempts: 8, backoffMs: 5000 },
      marginSeconds: 600,
    };
    expect(complaintsOf(await examine({ ...database, backend: await goodBackend(), horizon }))).toEqual({
      "environment fail": containing(/prefix \{other\}: worker on here, pid 1\), got redis, prefix \{doctor\}/),
      "result TTL fail": containing(/got 3600 s against 7115 s$/),
      "drainers warn": containing(/objections: no proof/),
      "consumers fail": containing(/none of email-send$/),
    });
  });

  test("nobody who drains, and queues that nobody works, are a failure", async () => {
    const database = await openDatabase();
    await database.pool.query(`UPDATE "OutboxDrainer" SET "aliveUntil" = clock_timestamp() - interval '1 minute'`);
    expect(complaintsOf(await examine({ ...database, backend: await goodBackend() }))).toEqual({
      "drainers fail": containing(/got none: events wait/),
      "consumers fail": containing(/mail-render, .+queues without a worker: .*toolctrl\.maintenance/),
    });
  });

  test("retention that is behind is told from events that it keeps for want of a receipt", async () => {
    const database = await openDatabase();
    const publish = `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "processedAt", "recordKey")
      VALUES ($1::uuid, 'acme', $2, '{}', 'DONE', false, clock_timestamp() - $3::interval, $1::text)`;
    const [free, held] = [randomUUID(), randomUUID()];
    await database.pool.query(publish, [free, "billing.invoice.paid", "40 days"]);
    await database.pool.query(
      `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") VALUES ($1, 'notification-create', 'acme', 'done')`,
      [free],
    );
    await database.pool.query(publish, [held, "mail.message.send", "40 days"]);
    await database.pool.query(publish, [randomUUID(), "webhook.message.deliver", "1 hour"]);
    expect(complaintsOf(await examine({ ...database, backend: await goodBackend() }))).toEqual({
      "retention fail": containing(/after 720 h and a day at most, got 1 that are older/),
      "receipts warn": containing(/1 of mail\. kept past retention.+1 handed off today.+webhook-deliver/),
    });
  });

  test.each([
    { finished: 10_000, finding: { state: "warn", said: containing(/got 1 handed off today.+by webhook-deliver$/) } },
    {
      finished: 200_000,
      finding: {
        state: "unknown",
        said: containing(/^the first 200000 events handed off in the last day .+ no more/),
        fix: containing(/outbox stats/),
      },
    },
  ])(
    "an event without its receipt after $finished finished ones of the day is not taken for one that has it",
    async ({ finished, finding }) => {
      const { pool } = await openDatabase();
      // A type without a route owes no receipt.
      await pool.query(
        `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "processedAt", "recordKey")
       SELECT gen_random_uuid(), 'acme', CASE WHEN n > $1 THEN 'webhook.message.deliver' ELSE 'product.order.placed' END, '{}', 'DONE', false,
              clock_timestamp() - interval '2 hours' + n * interval '1 microsecond', n::text FROM generate_series(1, $1::int + 1) n`,
        [finished],
      );
      expect(await createReceiptsCheck(pool, 720).look()).toMatchObject(finding);
    },
  );
});
