import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";

const DIRECTORY = fileURLToPath(new URL("../../../packages/db/prisma/migrations", import.meta.url));

/** Runs the SQL of every migration of `@toolctrl/db`, in order, each file as one implicit transaction. */
export async function applyMigrations(url: string): Promise<void> {
  const entries = await readdir(DIRECTORY, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const name of names) {
      const sql = await readFile(join(DIRECTORY, name, "migration.sql"), "utf8");
      await client.query(sql).catch((cause: unknown) => {
        throw new Error(`expected the migration ${name} to apply, got: ${String(cause)}`, { cause });
      });
    }
  } finally {
    await client.end();
  }
}
