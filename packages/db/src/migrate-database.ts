import { isCodedError } from "@toolctrl/foundation/errors";
import pg from "pg";
import { applyMigrations, migrationFailed } from "./apply-migrations.ts";
import type { DatabaseLog } from "./log.ts";
import { takeMigrationLock } from "./migration-lock.ts";
import { connectionConfig } from "./pool-config.ts";
import { assertSchema } from "./verify-schema.ts";

export interface MigrateOptions {
  /** A direct connection: the lock belongs to a session, which a pooler in transaction mode does not keep. */
  readonly url: string;
  readonly log?: DatabaseLog | undefined;
  /** Longest wait for another process that migrates, ms. Default 120,000. */
  readonly lockWaitMs?: number | undefined;
}

export interface MigrateResult {
  /** Names of the migrations that this call applied, in order. */
  readonly applied: string[];
}

const CONNECTION = { connectTimeoutMs: 10_000, lockTimeoutMs: 10_000, idleInTransactionMs: 60_000 };

/**
 * Applies the migrations that the database lacks, then verifies that the tables are what the migrations make.
 *
 * Lock and work share one connection, so the lock lasts exactly as long as the server works for us. Each migration and its record
 * commit together: a process that dies midway leaves nothing of it, and the next one applies it again. A migration that waits more
 * than 10 s for a table lock gives up rather than queue all traffic behind itself.
 *
 * @throws CodedError `MIGRATE.LOCKED`, `MIGRATE.TABLE_LOCKED`, `MIGRATE.FAILED`, `MIGRATE.VERIFY`
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const client = new pg.Client(connectionConfig(options.url, "toolctrl migrate", CONNECTION));
  // A lost connection also fails the statement in flight; without a listener it would end the process first.
  client.on("error", (error) => options.log?.error({ err: error }, "the migration connection was lost"));
  try {
    await client.connect();
    await takeMigrationLock(client, options.lockWaitMs ?? 120_000);
    const applied = await applyMigrations(client, { log: options.log });
    await assertSchema(client);
    return { applied };
  } catch (error) {
    throw isCodedError(error) ? error : migrationFailed(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
