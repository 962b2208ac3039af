import type { SchemaCatalogue } from "./schema-catalogue.ts";

/** Constraints that a migration adds unvalidated where there are rows already: they hold for what is written, and are validated later. */
export const VALIDATED_LATER: ReadonlySet<string> = new Set(["constraint OutboxEvent.OutboxEvent_recordKey_check"]);

/**
 * The statements that make an entry what is expected, beside the traffic where PostgreSQL allows it: migrations that are recorded as applied
 * are not applied again. Null where more is needed than the definition says: a whole table, another type, a function's body.
 */
export function mendingSql(name: string, expected: SchemaCatalogue, actual: string | undefined): string | null {
  const [, kind, tableName = "", partName = ""] = /^(\w+) ([^.]+)\.?(.*)$/.exec(name) ?? [];
  const [table, part, definition] = [quoted(tableName), quoted(partName), expected[name] ?? ""];
  switch (kind) {
    case "table":
      return actual === undefined ? null : ofTable(table, actual);
    case "storage":
      return `ALTER TABLE ${table} SET (${partName} = ${definition});`;
    case "column":
      return actual === undefined ? `ALTER TABLE ${table} ADD COLUMN ${part} ${definition};` : null;
    case "constraint":
      return ofConstraint(table, part, definition, actual, VALIDATED_LATER.has(name));
    case "index":
      return Object.hasOwn(expected, name.replace("index", "constraint")) ? null : ofIndex(part, definition, actual);
    case "trigger":
      return ofTrigger(table, part, definition, actual);
    default:
      return null;
  }
}

function ofTable(table: string, actual: string): string | null {
  // Who filters rows keeps somebody out: whether the role is wrong, or the filter, is no question of SQL.
  return actual === "UNLOGGED" ? `ALTER TABLE ${table} SET LOGGED;` : null;
}

function ofConstraint(table: string, part: string, definition: string, actual: string | undefined, later: boolean): string {
  const validate = `ALTER TABLE ${table} VALIDATE CONSTRAINT ${part};`;
  if (actual === `${definition} NOT VALID`) return validate;
  if (actual === `${definition} (DISABLED)`) {
    const [, referenced = table] = /REFERENCES ("(?:[^"]|"")+"|\w+)\(/.exec(definition) ?? [];
    return [...new Set([table, referenced])].map((each) => `ALTER TABLE ${each} ENABLE TRIGGER ALL;`).join(" ");
  }
  const drop = actual === undefined ? "" : `DROP CONSTRAINT ${part}, `;
  const add = `ALTER TABLE ${table} ${drop}ADD CONSTRAINT ${part} ${definition}`;
  // Those that PostgreSQL can check afterwards, without a lock that keeps everybody out.
  if (!/^(?:CHECK|FOREIGN KEY)/.test(definition)) return `${add};`;
  return later ? `${add} NOT VALID;` : `${add} NOT VALID; ${validate}`;
}

function ofIndex(part: string, definition: string, actual: string | undefined): string {
  if (actual === `${definition} (INVALID)`) return `REINDEX INDEX CONCURRENTLY ${part};`;
  const create = `${definition.replace("INDEX", "INDEX CONCURRENTLY")};`;
  return actual === undefined ? create : `DROP INDEX CONCURRENTLY ${part}; ${create}`;
}

function ofTrigger(table: string, part: string, definition: string, actual: string | undefined): string {
  if (actual === undefined) return `${definition};`;
  if (actual.startsWith(`${definition} (`)) return `ALTER TABLE ${table} ENABLE TRIGGER ${part};`;
  return `DROP TRIGGER ${part} ON ${table}; ${definition};`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
