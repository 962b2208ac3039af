import { Pool, type PoolConfig } from "pg";
import type { KeyValueStore, StoreLog } from "./key-value.ts";
import { storeUnavailable } from "./store-unavailable.ts";

export interface PostgresStoreOptions {
  /** Names the database. Only its settings are used, never its connections: handlers may hold all of them while claims are renewed. */
  readonly pool: Pool;
  readonly log?: StoreLog;
  /** Connections of the store's own, opened on demand; default 4. */
  readonly poolMax?: number;
  /** Bound of getting a connection, and of one statement, ms; default 2,000. */
  readonly timeoutMs?: number;
}

/**
 * Takes a key that is absent or expired, in one statement: DO UPDATE locks the row and tests its newest version, so of two rivals
 * over an expired row one takes it. A row that holds our own value is ours (our first reply was lost). Served by the primary key.
 */
const SET_IF_ABSENT = `
INSERT INTO "IdempotencyKey" AS held ("key", "value", "expiresAt")
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT ("key") DO UPDATE SET "value" = EXCLUDED."value", "expiresAt" = clock_timestamp() + $3 * interval '1 millisecond'
WHERE held."expiresAt" <= clock_timestamp() OR held."value" = EXCLUDED."value"`;
const GET = `
SELECT "value", extract(epoch FROM "expiresAt" - clock_timestamp())::float8 * 1000 AS "ttlMs"
FROM "IdempotencyKey" WHERE "key" = $1 AND "expiresAt" > clock_timestamp()`;
const COMPARE_AND_SET = `
UPDATE "IdempotencyKey" SET "value" = $3, "expiresAt" = clock_timestamp() + $4 * interval '1 millisecond'
WHERE "key" = $1 AND "value" IN ($2, $3) AND "expiresAt" > clock_timestamp()`;
const COMPARE_AND_DELETE = `DELETE FROM "IdempotencyKey" WHERE "key" = $1 AND "value" = $2 AND "expiresAt" > clock_timestamp()`;
const PROBE = `SELECT current_setting('transaction_read_only') AS "readOnly"`;

/**
 * The Postgres form of the key-value port, on the table "IdempotencyKey". The server's clock alone decides what is expired; expired rows
 * are replaced here and deleted by retention.
 */
export function createPostgresStore(options: PostgresStoreOptions): KeyValueStore {
  const { log, poolMax = 4, timeoutMs = 2_000 } = options;
  const pool = new Pool(ownConfig(options.pool, poolMax, timeoutMs));
  // Without a listener, an idle connection that the server ends would end the process.
  pool.on("error", (error) => log?.warn({ err: error, store: "postgres" }, "an idle connection of the store failed"));

  async function run(
    operation: string,
    text: string,
    values: unknown[],
  ): Promise<{ changed: boolean; row: Record<string, unknown> | undefined }> {
    try {
      const { rows, rowCount } = await pool.query<Record<string, unknown>>(text, values);
      return { changed: rowCount === 1, row: rows[0] };
    } catch (error) {
      throw storeUnavailable("postgres", operation, error);
    }
  }

  let closing: Promise<void> | undefined;
  return {
    kind: "postgres",
    async setIfAbsent(key, value, ttlMs) {
      return (await run("INSERT of a key", SET_IF_ABSENT, [key, value, ttlMs])).changed;
    },
    async get(key) {
      const { row } = await run("SELECT of a key", GET, [key]);
      return row === undefined ? null : { value: String(row["value"]), ttlMs: Math.max(0, Number(row["ttlMs"])) };
    },
    async compareAndSet(key, expected, value, ttlMs) {
      return (await run("compare-and-set", COMPARE_AND_SET, [key, expected, value, ttlMs])).changed;
    },
    async compareAndDelete(key, expected) {
      return (await run("compare-and-delete", COMPARE_AND_DELETE, [key, expected])).changed;
    },
    async ping() {
      const { row } = await run("a probe", PROBE, []);
      if (row?.["readOnly"] !== "off") throw storeUnavailable("postgres", "a probe", new Error("a server that takes no writes"));
    },
    close: () => (closing ??= pool.end()),
  };
}

function ownConfig(pool: Pool, max: number, timeoutMs: number): PoolConfig {
  const { options } = pool;
  return {
    ...options,
    // pg hides these two from enumeration, so the spread leaves them out.
    ...(options.password === undefined ? {} : { password: options.password }),
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    min: 0,
    max,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
  };
}
