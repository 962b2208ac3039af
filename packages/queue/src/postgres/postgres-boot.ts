import { setTimeout as delay } from "node:timers/promises";
import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations, SchemaMigrationRequiredError } from "bullmq";
import type { PostgresConnection } from "bullmq";
import { Client } from "pg";
import type { ErrorReporter } from "../log.ts";

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 1000;
const MIGRATION_TIMEOUT_MS = 60_000;

export interface PostgresTarget {
  readonly url: string;
  readonly schema: string;
}

/** Options of one connection pool; every wait in it is bounded. */
export function poolConfig(target: PostgresTarget, max: number, timeoutMs: number) {
  return {
    connectionString: target.url,
    schema: target.schema,
    max,
    connectionTimeoutMillis: Math.min(timeoutMs, 5000),
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    idleTimeoutMillis: 30_000,
    application_name: "toolctrl-queue",
  };
}

/**
 * A BullMQ connection that has answered once. BullMQ remembers the first failure of a connection for ever, so each try gets a new one.
 * Undefined when `signal` aborted before.
 */
export async function connectWithRetry(
  make: () => PostgresConnection,
  report: ErrorReporter,
  signal: AbortSignal,
): Promise<PostgresConnection | undefined> {
  for (let pauseMs = FIRST_RETRY_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
    const connection = make();
    try {
      await connection.waitUntilReady();
      if (!signal.aborted) return connection;
      await connection.close();
      return undefined;
    } catch (error) {
      report(error);
      await connection.close().catch(report);
    }
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

/** Makes BullMQ's tables, or brings them up to date, and tries until that has worked. Many processes may do so at once. */
export async function migrateWithRetry(target: PostgresTarget, report: ErrorReporter, signal: AbortSignal): Promise<void> {
  for (let pauseMs = FIRST_RETRY_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
    try {
      return await migrateQueueSchema(target, report);
    } catch (error) {
      report(error);
    }
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

async function migrateQueueSchema(target: PostgresTarget, report: ErrorReporter): Promise<void> {
  const client = new Client({
    connectionString: target.url,
    connectionTimeoutMillis: 5000,
    statement_timeout: MIGRATION_TIMEOUT_MS,
    query_timeout: MIGRATION_TIMEOUT_MS,
  });
  client.on("error", report);
  try {
    await client.connect();
    // Only when there is something to do: a migration locks its ledger against every process that connects meanwhile.
    if ((await schemaVersion(client, target.schema)) < LATEST_SCHEMA_VERSION) await runMigrations(client, target.schema);
  } finally {
    await client.end().catch(report);
  }
}

async function schemaVersion(client: Client, schema: string): Promise<number> {
  try {
    return await assertSchemaCompatibility(client, schema);
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  }
}
