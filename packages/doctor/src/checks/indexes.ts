import type { Queryable } from "@toolctrl/db/sql";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** An index that is being built is not valid yet, and nobody's fault. */
const INVALID = `SELECT quote_ident(c.relname) AS "name" FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE NOT (i.indisvalid AND i.indisready) AND n.nspname = ANY (current_schemas(false))
   AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
 ORDER BY 1`;

/** Every index is valid: one whose build was interrupted keeps no promise, is used by no query, and costs each write. */
export function createIndexesCheck(db: Queryable): Check {
  return { name: "indexes", look: () => lookAt(db) };
}

async function lookAt(db: Queryable): Promise<Finding> {
  const { rows } = await db.query<{ name: string }>(INVALID);
  if (rows.length === 0) return ok("all valid");
  const names = rows.map(({ name }) => name);
  return fail(
    `expected every index to be valid, got ${names.join(", ")}`,
    names.map((name) => `REINDEX INDEX CONCURRENTLY ${name};`).join(" "),
  );
}
