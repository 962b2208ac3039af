import type pg from "pg";
import type { Queryable } from "./sql.ts";
import { transactionAborted } from "./transaction-aborted.ts";

/**
 * Runs `fn` in a transaction of raw SQL on one connection: commits when it returns, rolls back when it throws.
 *
 * @throws what `fn` throws; `DB.POOL_TIMEOUT` when no connection comes free; `DB.TRANSACTION_ABORTED` when the commit became a
 * rollback, because a statement had failed and its error was swallowed.
 */
export async function transaction<T>(pool: pg.Pool, fn: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("BEGIN");
    const result = await fn(client);
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw transactionAborted();
    return result;
  } catch (error) {
    await client.query("ROLLBACK").catch((cause: unknown) => {
      // The connection is gone, and with it the transaction; the pool must not lend it again.
      broken = cause instanceof Error ? cause : new Error(String(cause));
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
