import type { MigrationFile } from "./migration-files.ts";
import type { Queryable } from "./sql.ts";

const INDEX_NAME = /\bINDEX\s+CONCURRENTLY\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)"?/i;

/**
 * Makes interrupted concurrent index builds repeatable. Such a migration cannot share a transaction with its record, so a crash
 * leaves an unfinished record, and perhaps an invalid index that `IF NOT EXISTS` would take for done. Call it under the migration
 * lock: nobody else is building then.
 */
export async function clearInterruptedBuilds(db: Queryable, migrations: readonly MigrationFile[]): Promise<void> {
  const concurrent = migrations.filter((migration) => !migration.transactional);
  if (concurrent.length === 0) return;
  const { rows } = await db.query<{ exists: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS "exists"`);
  if (rows[0]?.exists !== true) return;
  const finished = await db.query<{ name: string }>(
    `SELECT "migration_name" AS "name" FROM "_prisma_migrations" WHERE "finished_at" IS NOT NULL`,
  );
  const done = new Set(finished.rows.map((row) => row.name));
  for (const { name, sql } of concurrent.filter((migration) => !done.has(migration.name))) {
    // The index first: with the record gone and the index there, a crash in between would hide it.
    const index = INDEX_NAME.exec(sql)?.[1];
    if (index !== undefined) await dropIfInvalid(db, index);
    await db.query(`DELETE FROM "_prisma_migrations" WHERE "migration_name" = $1 AND "finished_at" IS NULL AND "rolled_back_at" IS NULL`, [
      name,
    ]);
  }
}

async function dropIfInvalid(db: Queryable, index: string): Promise<void> {
  const { rows } = await db.query<{ invalid: boolean }>(
    `SELECT NOT i.indisvalid AS "invalid" FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE c.relname = $1 AND c.relnamespace = current_schema()::regnamespace`,
    [index],
  );
  if (rows[0]?.invalid === true) await db.query(`DROP INDEX CONCURRENTLY "${index}"`);
}
