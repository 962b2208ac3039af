// Writes prisma/schema-dump.json from what the migrations make on an empty, throwaway database.
// Run it after each new migration: `pnpm --filter @toolctrl/db dump-schema postgres://…/an_empty_database`.
import { writeFile } from "node:fs/promises";
import pg from "pg";
import { readMigrations } from "../src/migration-files.ts";
import { readSchemaCatalogue } from "../src/schema-catalogue.ts";
import { schemaDumpPath } from "../src/verify-schema.ts";

const [url] = process.argv.slice(2);
if (url === undefined) throw new Error("expected the URL of an empty database, got nothing");
const client = new pg.Client({ connectionString: url });
await client.connect();
try {
  for (const { sql } of await readMigrations()) await client.query(sql);
  const catalogue = await readSchemaCatalogue(client);
  await writeFile(schemaDumpPath(), `${JSON.stringify(catalogue, null, 2)}\n`);
  process.stdout.write(`${Object.keys(catalogue).length} entries\n`);
} finally {
  await client.end();
}
