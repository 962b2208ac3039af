import pg from "pg";
import { fail, ok, warn, type Check, type Finding } from "../check.ts";

const CONNECT_MS = 2_000;
const ROUNDS = 3;

/**
 * `DATABASE_DIRECT_URL` leads to the server, or to a pooler that keeps a session for a connection: LISTEN, and the locks of migrations, belong to
 * a session, and a pooler in transaction mode hands the next statement to any.
 */
export function createPoolerModeCheck(deps: { readonly url: string; readonly directUrl: string | undefined }): Check {
  return { name: "pooler mode", look: () => lookAt(deps) };
}

async function lookAt({ url, directUrl }: { readonly url: string; readonly directUrl: string | undefined }): Promise<Finding> {
  const keeps = await keepsSessions(directUrl ?? url);
  if (keeps) return ok(`${directUrl === undefined ? "DATABASE_URL" : "DATABASE_DIRECT_URL"} keeps its session`);
  if (directUrl === undefined) {
    const said =
      "expected DATABASE_DIRECT_URL where DATABASE_URL is a pooler in transaction mode, got none: no wake-ups, the drainers poll";
    return warn(said, "set DATABASE_DIRECT_URL to the server itself");
  }
  return fail(
    "expected DATABASE_DIRECT_URL to keep one session for a connection, got a pooler in transaction mode",
    "point it at the server itself, or at a pooler in session mode",
  );
}

/**
 * Whether a connection has one backend for as long as it lives. Two connections take turns, and one of them holds a transaction open meanwhile:
 * a pooler in transaction mode then gives it the backend that the other one had, or gives the other one another.
 */
async function keepsSessions(url: string): Promise<boolean> {
  const [one, other] = [open(url), open(url)];
  try {
    await Promise.all([one.connect(), other.connect()]);
    const seen = { one: new Set<number>(), other: new Set<number>() };
    for (let round = 0; round < ROUNDS; round += 1) {
      seen.one.add(await backendOf(one));
      await other.query("BEGIN");
      seen.other.add(await backendOf(other));
      seen.one.add(await backendOf(one));
      await other.query("COMMIT");
    }
    return seen.one.size === 1 && seen.other.size === 1 && [...seen.one].every((pid) => !seen.other.has(pid));
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
