import { randomInt } from "node:crypto";
import pg from "pg";
import { fail, ok, warn, type Check, type Finding } from "../check.ts";

const CONNECT_MS = 2_000;
const ROUNDS = 3;

/** For how long a connection has one session: as long as it lives, for a transaction, or for a statement. */
type Mode = "session" | "transaction" | "statement";

/**
 * `DATABASE_DIRECT_URL` leads to the server, or to a pooler that keeps a session for a connection: LISTEN, and the locks of migrations, belong to
 * a session, and a pooler in transaction mode hands the next statement to any. It leads to the database of `DATABASE_URL`, which takes
 * transactions.
 */
export function createPoolerModeCheck(deps: { readonly url: string; readonly directUrl: string | undefined }): Check {
  return { name: "pooler mode", look: () => lookAt(deps) };
}

async function lookAt({ url, directUrl }: { readonly url: string; readonly directUrl: string | undefined }): Promise<Finding> {
  const [pooled, direct] = await Promise.all([modeOf(url), directUrl === undefined ? null : modeOf(directUrl)]);
  if (pooled === "statement") return takesNoTransactions("DATABASE_URL");
  if (direct === "statement") return takesNoTransactions("DATABASE_DIRECT_URL");
  if (directUrl !== undefined && !(await areOneDatabase(url, directUrl)))
    return fail(
      "expected DATABASE_URL and DATABASE_DIRECT_URL to lead to one database, got two",
      "point DATABASE_DIRECT_URL past the pooler to the same database: migrations, wake-ups and a queue on PostgreSQL go there",
    );
  if ((direct ?? pooled) === "session") return ok(`${direct === null ? "DATABASE_URL" : "DATABASE_DIRECT_URL"} keeps its session`);
  if (direct === null) {
    const said =
      "expected DATABASE_DIRECT_URL where DATABASE_URL is a pooler in transaction mode, got none: no wake-ups, the drainers poll";
    return warn(said, "set DATABASE_DIRECT_URL to the server itself");
  }
  return fail(
    "expected DATABASE_DIRECT_URL to keep one session for a connection, got a pooler in transaction mode",
    "point it at the server itself, or at a pooler in session mode",
  );
}

function takesNoTransactions(name: string): Finding {
  return fail(
    `expected ${name} to take transactions, got a pooler in statement mode`,
    "set the pooler's mode to transaction or session: events are published and settled in transactions",
  );
}

/**
 * Two connections take turns, and one of them holds a transaction open meanwhile: a pooler in transaction mode then gives it the backend that the
 * other one had, or gives the other one another. One in statement mode refuses the transaction.
 */
function modeOf(url: string): Promise<Mode> {
  return withTwo(url, url, async (one, other) => {
    const seen = { one: new Set<number>(), other: new Set<number>() };
    for (let round = 0; round < ROUNDS; round += 1) {
      seen.one.add(await backendOf(one));
      if (await refusesTransactions(other)) return "statement";
      seen.other.add(await backendOf(other));
      seen.one.add(await backendOf(one));
      await other.query("COMMIT");
    }
    const kept = seen.one.size === 1 && seen.other.size === 1 && [...seen.one].every((pid) => !seen.other.has(pid));
    return kept ? "session" : "transaction";
  });
}

/** Begins a transaction. PgBouncer calls it a violation of its protocol. */
async function refusesTransactions(client: pg.Client): Promise<boolean> {
  try {
    await client.query("BEGIN");
    return false;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === "08P01") return true;
    throw error;
  }
}

/** Whether two URLs lead to one database: what is locked over the one cannot be locked over the other. A name may be the same on two servers. */
function areOneDatabase(url: string, otherUrl: string): Promise<boolean> {
  return withTwo(url, otherUrl, async (one, other) => {
    const key = randomInt(2 ** 47);
    await other.query("BEGIN");
    await other.query(`SELECT pg_advisory_xact_lock(${key})`);
    const { rows } = await one.query<{ taken: boolean }>(`SELECT pg_try_advisory_xact_lock(${key}) AS "taken"`);
    await other.query("ROLLBACK");
    return rows[0]?.taken === false;
  });
}

async function withTwo<T>(url: string, otherUrl: string, use: (one: pg.Client, other: pg.Client) => Promise<T>): Promise<T> {
  const [one, other] = [open(url), open(otherUrl)];
  try {
    await Promise.all([one.connect(), other.connect()]);
    return await use(one, other);
  } finally {
    await Promise.all([one, other].map((client) => client.end().catch(() => undefined)));
  }
}

function open(url: string): pg.Client {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS });
  client.on("error", () => undefined);
  return client;
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(`SELECT pg_backend_pid() AS "pid"`);
  return rows[0]?.pid ?? 0;
}
