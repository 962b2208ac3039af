import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { fail, ok, unknown, type Check, type Finding } from "../check.ts";

const answer = z.object({
  long: z.array(z.object({ who: z.string(), seconds: z.number() })),
  hidden: z.number(),
});

/** A prepared transaction holds the same, and has no session that ends. Others' sessions tell nothing to those who may not look. */
const ASK = `WITH open AS (
  SELECT 'process ' || a.pid || ' (' || COALESCE(NULLIF(a.application_name, ''), a.usename, a.backend_type) || ')' AS "who", a.xact_start AS "since"
    FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL AND a.backend_type = 'client backend'
  UNION ALL
  SELECT 'prepared transaction ' || p.gid, p.prepared FROM pg_prepared_xacts p WHERE p.database = current_database()
)
SELECT (SELECT COALESCE(jsonb_agg(jsonb_build_object('who', o."who", 'seconds', extract(epoch FROM clock_timestamp() - o."since")) ORDER BY o."since"), '[]')
          FROM open o WHERE o."since" <= clock_timestamp() - $1::float8 * interval '1 millisecond') AS "long",
  (SELECT count(*)::int FROM pg_stat_activity a WHERE a.datname = current_database() AND a.query = '<insufficient privilege>') AS "hidden"`;

const SHOWN = 3;

/** No transaction is open for longer than `maxMs`: what it can still see cannot be vacuumed, and claims walk past it. */
export function createLongTransactionsCheck(db: Queryable, maxMs: number): Check {
  return { name: "long transactions", look: () => lookAt(db, maxMs) };
}

async function lookAt(db: Queryable, maxMs: number): Promise<Finding> {
  const { rows } = await db.query(ASK, [maxMs]);
  const { long, hidden } = answer.parse(rows[0]);
  if (long.length > 0) {
    const shown = long.slice(0, SHOWN).map(({ who, seconds }) => `${who} for ${Math.round(seconds)} s`);
    const rest = long.length > SHOWN ? ` and ${long.length - SHOWN} more` : "";
    return fail(
      `expected no transaction open for more than ${maxMs / 1000} s, got ${shown.join(", ")}${rest}`,
      "find what it waits for (pg_stat_activity), end it with pg_terminate_backend(…), or ROLLBACK PREPARED",
    );
  }
  if (hidden > 0)
    return unknown(
      `${hidden} sessions of other roles do not tell how long their transactions are`,
      "GRANT pg_read_all_stats to the role of DATABASE_URL",
    );
  return ok(`none above ${maxMs / 1000} s`);
}
