import { Client } from "pg";
import type { PostgresTarget } from "./postgres-boot.ts";

/**
 * Runs something while no other process runs what has the same name in this schema. The lock ends with its connection,
 * so a crash leaves nothing behind; waiting for it is bounded by `timeoutMs`.
 */
export async function withAdvisoryLock(target: PostgresTarget, name: string, timeoutMs: number, run: () => Promise<void>): Promise<void> {
  const client = new Client({
    connectionString: target.url,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs,
  });
  let broken: unknown;
  client.on("error", (error) => (broken = error));
  try {
    await client.connect();
    await client.query("SELECT pg_advisory_lock(hashtextextended($1, 0))", [`${target.schema} ${name}`]);
    if (broken === undefined) await run();
  } finally {
    await client.end().catch(() => undefined); // the server ends the lock either way
  }
}
