import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";
import { mendingSql, VALIDATED_LATER } from "./mending-sql.ts";
import { findPrismaDir } from "./migration-files.ts";
import { readSchemaCatalogue, type SchemaCatalogue } from "./schema-catalogue.ts";
import type { Queryable } from "./sql.ts";
import { withConnection } from "./with-connection.ts";

const catalogueSchema = z.record(z.string(), z.string());

/** What is missing or different. */
export interface SchemaProblem {
  /** Its name in the catalogue. */
  readonly name: string;
  readonly said: string;
  /** The SQL that mends it where no migration does; null where that takes a person. */
  readonly mend: string | null;
}

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
  if (problems.length > 0) throw schemaDiffers(problems);
}

/** An error is shown in two thousand characters; `db status` has room for all. */
const SHOWN = 8;

export function schemaDiffers(problems: readonly SchemaProblem[]): CodedError {
  const more = problems.length > SHOWN ? [`and ${problems.length - SHOWN} more`] : [];
  const said = [...problems.slice(0, SHOWN).map(withMend), ...more].join("\n");
  const why = `expected the tables that the migrations make, got ${problems.length} differences:\n${said}`;
  return new CodedError("MIGRATE.VERIFY", why, { facts: { problems } });
}

/** A problem in one line. */
export function withMend({ said, mend }: SchemaProblem): string {
  return mend === null ? said : `${said}; to mend it: ${mend}`;
}

export async function findSchemaProblems(db: Queryable): Promise<SchemaProblem[]> {
  const expected = catalogueSchema.parse(JSON.parse(await readFile(schemaDumpPath(), "utf8")));
  return compareCatalogues(expected, await readSchemaCatalogue(db));
}

/** The entries of `expected` that `actual` lacks or has otherwise. Of a missing table only the table is named. */
export function compareCatalogues(expected: SchemaCatalogue, actual: SchemaCatalogue): SchemaProblem[] {
  const missingTables = Object.keys(expected).filter((name) => name.startsWith("table ") && !Object.hasOwn(actual, name));
  const parts = missingTables.map((name) => `${name.slice("table ".length)}.`);
  return Object.entries(expected).flatMap(([name, definition]) => {
    const ofMissingTable = parts.some((part) => name.slice(name.indexOf(" ") + 1).startsWith(part));
    if (actual[name] === definition || ofMissingTable) return [];
    if (VALIDATED_LATER.has(name) && actual[name] === `${definition} NOT VALID`) return [];
    const said = actual[name] === undefined ? `${name} is missing` : `expected ${name} to be "${definition}", got "${actual[name]}"`;
    return [{ name, said, mend: mendingSql(name, expected, actual[name]) }];
  });
}
