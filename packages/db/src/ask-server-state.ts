import pg from "pg";
import { isDatabaseAway } from "./is-database-away.ts";

const ANSWER_MS = 2000;

/** `away`: it takes no connection now, or has none to give. `read-only`: it takes no writes, as a standby, or a host whose disk is full. */
export type ServerState = "serving" | "read-only" | "away";

/**
 * How the server of a pool is. Asked over a connection of its own: a pool may be used up, or hold connections that are broken, while the server is well.
 * Never rejects; ends within about four seconds.
 */
export async function askServerState(pool: pg.Pool): Promise<ServerState> {
  // A pool hides its password from those who print or copy it.
  const { options } = pool;
  const secret = options.password === undefined ? {} : { password: options.password };
  const client = new pg.Client({ ...options, ...secret, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS });
  // Told by the request that fails, too.
  client.on("error", () => undefined);
  try {
    await client.connect();
    // So in recovery too.
    const { rows } = await client.query<{ readOnly: boolean }>(`SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`);
    return rows[0]?.readOnly === true ? "read-only" : "serving";
  } catch (error) {
    return isDatabaseAway(error) || /timeout/i.test(String(error)) ? "away" : "serving";
  } finally {
    // Not waited for: a server that has just gone silent says no goodbye.
    void client.end().catch(() => undefined);
  }
}
