import pg from "pg";
import { isDatabaseAway } from "./is-database-away.ts";

const ANSWER_MS = 2000;

/**
 * Whether the server of a pool takes no connection now, or has none to give. Asked over a connection of its own: a pool may be used up, or hold
 * connections that are broken, while the server is well. Never rejects; ends within about four seconds.
 */
export async function isServerAway(pool: pg.Pool): Promise<boolean> {
  // A pool hides its password from those who print or copy it.
  const { options } = pool;
  const secret = options.password === undefined ? {} : { password: options.password };
  const client = new pg.Client({ ...options, ...secret, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS });
  // Told by the request that fails, too.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("SELECT 1");
    return false;
  } catch (error) {
    return isDatabaseAway(error) || /timeout/i.test(String(error));
  } finally {
    // Not waited for: a server that has just gone silent says no goodbye.
    void client.end().catch(() => undefined);
  }
}
