import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface MigrationFile {
  readonly name: string;
  readonly sql: string;
  /** A file with CONCURRENTLY holds one statement that PostgreSQL refuses to run inside a transaction. */
  readonly transactional: boolean;
}

/**
 * The package's `prisma` folder, from `src` and from `dist` alike, and from a bundle that keeps the folder beside or above it.
 * @throws Error when there is none
 */
export function findPrismaDir(from: string = fileURLToPath(import.meta.url)): string {
  for (let dir = dirname(from), up = 0; up < 5; dir = dirname(dir), up += 1) {
    const candidate = join(dir, "prisma");
    if (existsSync(join(candidate, "migrations", "migration_lock.toml"))) return candidate;
  }
  throw new Error(`expected a prisma/migrations folder beside or above ${from}, got none`);
}

/** The migrations in the order in which they apply. */
export async function readMigrations(migrationsDir: string = join(findPrismaDir(), "migrations")): Promise<MigrationFile[]> {
  const entries = await readdir(migrationsDir, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(migrationsDir, name, "migration.sql"), "utf8");
      return { name, sql, transactional: !/\bCONCURRENTLY\b/i.test(withoutComments(sql)) };
    }),
  );
}

function withoutComments(sql: string): string {
  return sql.replaceAll(/--[^\n]*/g, "").replaceAll(/\/\*[\s\S]*?\*\//g, "");
}
