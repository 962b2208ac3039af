import { createHash } from "node:crypto";
import type pg from "pg";
import { readMigrations } from "./migration-files.ts";
import type { Queryable } from "./sql.ts";
import { findSchemaProblems, withMend } from "./verify-schema.ts";
import { withConnection } from "./with-connection.ts";

export interface MigrationStatus {
  readonly applied: string[];
  readonly pending: string[];
  /** Recorded as begun and never finished. */
  readonly failed: string[];
  /** Applied with other contents than the file has now. */
  readonly edited: string[];
  /** Applied, and unknown to this version of the package. */
  readonly unknown: string[];
  /** What of the tables is missing or different, a sentence each, with the SQL that mends it where there is one; empty when all is well. */
  readonly schemaProblems: string[];
}

interface Row extends pg.QueryResultRow {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

/** Compares the database with the package's migrations. Changes nothing. */
export function migrationStatus(options: { url: string }): Promise<MigrationStatus> {
  return withConnection(options.url, async (db) => {
    const files = await readMigrations();
    const rows = await recorded(db);
    const applied = rows.filter((row) => row.finished).map((row) => row.name);
    const known = new Map(files.map((file) => [file.name, createHash("sha256").update(file.sql).digest("hex")]));
    return {
      applied,
      pending: files.map((file) => file.name).filter((name) => !applied.includes(name)),
      failed: rows.filter((row) => !row.finished).map((row) => row.name),
      edited: rows.filter((row) => known.has(row.name) && known.get(row.name) !== row.checksum).map((row) => row.name),
      unknown: applied.filter((name) => !known.has(name)),
      schemaProblems: (await findSchemaProblems(db)).map(withMend),
    };
  });
}

async function recorded(db: Queryable): Promise<Row[]> {
  const { rows } = await db.query<{ exists: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS "exists"`);
  if (rows[0]?.exists !== true) return [];
  const result = await db.query<Row>(
    `SELECT "migration_name" AS "name", "checksum", "finished_at" IS NOT NULL AS "finished" FROM "_prisma_migrations"
     WHERE "rolled_back_at" IS NULL ORDER BY "migration_name"`,
  );
  return result.rows;
}
