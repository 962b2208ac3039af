import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SchemaEngine } from "@prisma/schema-engine-wasm/schema_engine_bg";
import { CodedError, describeError } from "@toolctrl/foundation/errors";
import pg from "pg";
import { clearInterruptedBuilds } from "./clear-interrupted-builds.ts";
import type { DatabaseLog } from "./log.ts";
import { findPrismaDir, readMigrations, type MigrationFile } from "./migration-files.ts";
import { createSchemaEngine } from "./schema-engine.ts";

/**
 * Applies what is missing, over a connection that holds the migration lock.
 *
 * @returns the names of the migrations it applied, in order
 * @throws CodedError `MIGRATE.TABLE_LOCKED`, `MIGRATE.FAILED`
 */
export async function applyMigrations(client: pg.Client, options: { dir?: string; log?: DatabaseLog | undefined } = {}): Promise<string[]> {
  const { dir = join(findPrismaDir(), "migrations"), log } = options;
  const [migrations, lockfile] = await Promise.all([readMigrations(dir), readFile(join(dir, "migration_lock.toml"), "utf8")]);
  await clearInterruptedBuilds(client, migrations);
  const met: { serverError?: unknown } = {};
  const engine = await createSchemaEngine(client, log, (error) => (met.serverError = error));
  const applied: string[] = [];
  try {
    for (const [index, migration] of migrations.entries()) {
      const upTo = migrationsList(dir, lockfile, migrations.slice(0, index + 1));
      applied.push(
        ...(await applyOne(client, engine, migration, upTo).catch((error: unknown) => {
          throw migrationFailed(met.serverError ?? error, migration.name);
        })),
      );
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
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: upTo,
      filters: { externalTables: [], externalEnums: [] },
    });
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
    throw error;
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

/** The error of a migration that did not apply. */
export function migrationFailed(error: unknown, migration?: string): CodedError {
  const where = migration === undefined ? "the migrations" : `migration ${migration}`;
  const detail = error instanceof pg.DatabaseError && error.detail !== undefined ? ` (${error.detail})` : "";
  const text = `${describeError(error, 4_000)}${detail}`;
  // Where the engine met the error itself, it keeps only the text.
  const code = text.includes("due to lock timeout") ? "MIGRATE.TABLE_LOCKED" : "MIGRATE.FAILED";
  return new CodedError(code, `expected ${where} to apply, got: ${text}`, { facts: { migration }, cause: error });
}
