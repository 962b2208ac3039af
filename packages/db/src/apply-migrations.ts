import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { CodedError, describeError, errorCodeOf, isCodedError } from "@toolctrl/foundation/errors";
import pg from "pg";
import type { SchemaEngine } from "@prisma/schema-engine-wasm/schema_engine_bg";
import { clearInterruptedBuilds } from "./clear-interrupted-builds.ts";
import type { DatabaseLog } from "./log.ts";
import { findPrismaDir, readMigrations, type MigrationFile } from "./migration-files.ts";
import { takeMigrationLock } from "./migration-lock.ts";
import { connectionConfig } from "./pool-config.ts";
import { createSchemaEngine } from "./schema-engine.ts";
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
 * @throws CodedError `MIGRATE.LOCKED`, `MIGRATE.FAILED`, `MIGRATE.VERIFY`
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const client = new pg.Client(connectionConfig(options.url, "toolctrl migrate", CONNECTION));
  // A lost connection also fails the statement in flight; without a listener it would end the process first.
  client.on("error", (error) => options.log?.error({ err: error }, "the migration connection was lost"));
  try {
    await client.connect();
    await takeMigrationLock(client, options.lockWaitMs ?? 120_000);
    const applied = await applyAll(client, options.log);
    await assertSchema(client);
    return { applied };
  } catch (error) {
    throw isCodedError(error) ? error : failed(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function applyAll(client: pg.Client, log: DatabaseLog | undefined): Promise<string[]> {
  const dir = join(findPrismaDir(), "migrations");
  const [migrations, lockfile] = await Promise.all([readMigrations(dir), readFile(join(dir, "migration_lock.toml"), "utf8")]);
  await clearInterruptedBuilds(client, migrations);
  const engine = await createSchemaEngine(client, log);
  const applied: string[] = [];
  try {
    for (const [index, migration] of migrations.entries()) {
      const upTo = migrationsList(dir, lockfile, migrations.slice(0, index + 1));
      applied.push(...(await applyOne(client, engine, migration, upTo)));
    }
  } finally {
    engine.free();
  }
  for (const name of applied) log?.info({ migration: name }, "migration applied");
  return applied;
}

// The engine gets the list up to this migration, of which at most the last is new; so one transaction holds one migration.
async function applyOne(client: pg.Client, engine: SchemaEngine, migration: MigrationFile, upTo: EngineList): Promise<string[]> {
  const apply = async (): Promise<string[]> => {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList: upTo, filters: { externalTables: [], externalEnums: [] } });
    return appliedMigrationNames;
  };
  try {
    if (!migration.transactional) return await apply();
    await client.query("BEGIN");
    const names = await apply();
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw new Error("expected the migration to commit, got a rollback");
    return names;
  } catch (error) {
    // The connection may be gone, and the transaction with it.
    await client.query("ROLLBACK").catch(() => undefined);
    throw failed(error, migration.name);
  }
}

type EngineList = Parameters<SchemaEngine["applyMigrations"]>[0]["migrationsList"];

function migrationsList(dir: string, lockfile: string, migrations: readonly MigrationFile[]): EngineList {
  return {
    baseDir: dir,
    lockfile: { path: "migration_lock.toml", content: lockfile },
    shadowDbInitScript: "",
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: "migration.sql", content: { tag: "ok", value: sql } },
    })),
  };
}

function failed(error: unknown, migration?: string): CodedError {
  const where = migration === undefined ? "the migrations" : `migration ${migration}`;
  const code = /canceling statement due to lock timeout|55P03/.test(describeError(error)) || errorCodeOf(error) === "55P03" ? "MIGRATE.LOCKED" : "MIGRATE.FAILED";
  return new CodedError(code, `expected ${where} to apply, got: ${describeError(error, 4_000)}`, { facts: { migration }, cause: error });
}
