import { CodedError } from "@toolctrl/foundation/errors";
import type pg from "pg";
import { hintPublished, insertsOutboxEvent } from "./publish-hint.ts";
import type { Queryable } from "./sql.ts";
import { transactionAborted } from "./transaction-aborted.ts";

/**
 * Runs `fn` in a transaction of raw SQL on one connection: commits when it returns, rolls back when it throws.
 * After a commit that published, the drainers are hinted, as after one of Prisma's. What `fn` began and did not wait for is refused once it
 * has ended, as Prisma does: the statement would commit alone, or in the transaction that has the connection next.
 *
 * @throws what `fn` throws; `DB.POOL_TIMEOUT` when no connection comes free; `DB.TRANSACTION_ABORTED` when the commit became a
 * rollback, because a statement had failed and its error was swallowed.
 */
export async function transaction<T>(pool: pg.Pool, fn: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("BEGIN");
    const tx = new WatchedTransaction(client);
    const result = await tx.run(fn);
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw transactionAborted();
    if (tx.published) hintPublished(pool);
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

/** Runs statements until the transaction ends, and notices when one publishes. */
class WatchedTransaction implements Queryable {
  readonly #client: pg.PoolClient;
  #ended = false;
  published = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async run<T>(fn: (tx: Queryable) => Promise<T>): Promise<T> {
    try {
      return await fn(this);
    } finally {
      this.#ended = true;
    }
  }

  async query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<Row>> {
    if (this.#ended) throw new CodedError("DB.TRANSACTION_ENDED", "expected the transaction to be open, got a statement after its end");
    const result = await this.#client.query<Row>(text, values);
    this.published ||= insertsOutboxEvent(text);
    return result;
  }
}
