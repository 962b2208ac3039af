import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import pg from "pg";
import { onTestFinished } from "vitest";
import { applyMigrations } from "../src/apply-migrations.ts";
import { createDatabase, type Database, type DatabaseOptions } from "../src/client.ts";
import { findPrismaDir } from "../src/migration-files.ts";

/** A database as it was before a migration, at first the one that adds the record key; `migrate` brings it up to date. */
export async function createLegacyDatabase(before = "20261201000000_record_key"): Promise<string> {
  const { url, drop } = await createEmptyDatabase();
  onTestFinished(drop);
  const migrations = join(findPrismaDir(), "migrations");
  const dir = await mkdtemp(join(tmpdir(), "legacy-"));
  const client = new pg.Client({ connectionString: url });
  try {
    for (const name of await readdir(migrations)) {
      if (name < before || name === "migration_lock.toml") await cp(join(migrations, name), join(dir, name), { recursive: true });
    }
    await client.connect();
    await applyMigrations(client, { dir });
  } finally {
    await client.end();
    await rm(dir, { recursive: true });
  }
  return url;
}

/** A client on it, which ends with the test. */
export async function openAt(url: string, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false, ...options });
  onTestFinished(() => database.close(1_000));
  return database;
}

/** The columns that publishers of the version before wrote, in the words they wrote them. */
export const OLD_INSERT = `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "version", "payload", "dispatchKey")
VALUES ($1::uuid, $2::text, $3::text, $4::int, $5::jsonb, $6::text)
ON CONFLICT DO NOTHING`;
