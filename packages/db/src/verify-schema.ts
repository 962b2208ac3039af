import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";
import { findPrismaDir } from "./migration-files.ts";
import { readSchemaCatalogue, type SchemaCatalogue } from "./schema-catalogue.ts";
import type { Queryable } from "./sql.ts";
import { withConnection } from "./with-connection.ts";

const catalogueSchema = z.record(z.string(), z.string());

/** Constraints that a migration adds unvalidated where there are rows already: they hold for what is written, and are validated later. */
const VALIDATED_LATER: ReadonlySet<string> = new Set(["constraint OutboxEvent.OutboxEvent_recordKey_check"]);

/** Where the catalogue that the migrations make is kept; `pnpm --filter @toolctrl/db dump-schema` writes it. */
export function schemaDumpPath(): string {
  return join(findPrismaDir(), "schema-dump.json");
}

/**
 * Checks that the tables are what the migrations make. More than that is fine: a product's own tables, or a later version's columns.
 * @throws CodedError `MIGRATE.VERIFY` naming each thing that is missing or different
 */
export async function verifySchema(options: { url: string }): Promise<void> {
  await withConnection(options.url, assertSchema);
}

/** {@link verifySchema} on a connection. */
export async function assertSchema(db: Queryable): Promise<void> {
  const problems = await findSchemaProblems(db);
  if (problems.length === 0) return;
  throw new CodedError(
    "MIGRATE.VERIFY",
    `expected the tables that the migrations make, got ${problems.length} differences:\n${problems.join("\n")}`,
    {
      facts: { problems },
    },
  );
}

/** What is missing or different, a sentence each. */
export async function findSchemaProblems(db: Queryable): Promise<string[]> {
  const expected = catalogueSchema.parse(JSON.parse(await readFile(schemaDumpPath(), "utf8")));
  return compareCatalogues(expected, await readSchemaCatalogue(db));
}

/** The entries of `expected` that `actual` lacks or has otherwise. Of a missing table only the table is named. */
export function compareCatalogues(expected: SchemaCatalogue, actual: SchemaCatalogue): string[] {
  const missingTables = Object.keys(expected).filter((name) => name.startsWith("table ") && !Object.hasOwn(actual, name));
  const parts = missingTables.map((name) => `${name.slice("table ".length)}.`);
  return Object.entries(expected).flatMap(([name, definition]) => {
    const ofMissingTable = parts.some((part) => name.slice(name.indexOf(" ") + 1).startsWith(part));
    if (actual[name] === definition || ofMissingTable) return [];
    if (VALIDATED_LATER.has(name) && actual[name] === `${definition} NOT VALID`) return [];
    return actual[name] === undefined ? [`${name} is missing`] : [`expected ${name} to be "${definition}", got "${actual[name]}"`];
  });
}
