import pg from "pg";
import { connectionConfig } from "./pool-config.ts";
import type { Queryable } from "./sql.ts";

/** Longest wait for the answer of one statement: a pooler that is paused, or a server that hangs, takes a login and then says nothing more. */
const ANSWER_MS = 5_000;

/** Asks a database on a connection of its own, and ends that whatever happens. */
export async function withConnection<T>(url: string, use: (db: Queryable) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connectionConfig(url, "toolctrl migrate"), query_timeout: ANSWER_MS });
  // A lost connection also fails the statement in flight; without a listener it would end the process first.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
