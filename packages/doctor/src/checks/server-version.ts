import type { Queryable } from "@toolctrl/db/sql";
import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "@toolctrl/runtime/deadline";
import type { QueryResultRow } from "pg";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** The oldest one that the product's own statements and BullMQ's run on. */
const OLDEST_MAJOR = 13;

const ASK = `SELECT current_setting('server_version') AS "version", current_setting('server_version_num')::int / 10000 AS "major",
  pg_is_in_recovery() AS "standby", current_setting('transaction_read_only')::boolean AS "readOnly"`;

interface Row extends QueryResultRow {
  readonly version: string;
  readonly major: number;
  readonly standby: boolean;
  readonly readOnly: boolean;
}

/** Less than a check may take: no answer is this one's failure, and not a question that could not be asked. */
const ANSWER_MS = 3_000;

/** The database answers, is new enough, and takes writes. The one check that calls an outage by its name; the others cannot be asked then. */
export function createServerVersionCheck(db: Queryable): Check {
  return { name: "database", look: () => lookAt(db) };
}

async function lookAt(db: Queryable): Promise<Finding> {
  let row: Row | undefined;
  try {
    row = (await withDeadline(db.query<Row>(ASK), ANSWER_MS, () => new Error(`none within ${ANSWER_MS} ms`))).rows[0];
  } catch (error) {
    return fail(`expected the database to answer, got: ${describeError(error, 300)}`, "start it, or correct DATABASE_URL");
  }
  if (row === undefined) return fail("expected the database to tell its version, got nothing", "correct DATABASE_URL");
  if (row.major < OLDEST_MAJOR)
    return fail(`expected PostgreSQL ${OLDEST_MAJOR} or newer, got ${row.version}`, "upgrade the database's server");
  if (row.standby) return fail("expected a server that takes writes, got a standby", "point DATABASE_URL at the primary");
  if (row.readOnly)
    return fail(
      "expected a server that takes writes, got one whose sessions are read-only",
      "find who set default_transaction_read_only: a host that ran out of disk (make room), ALTER DATABASE, ALTER ROLE, or an option of the URL",
    );
  return ok(`PostgreSQL ${row.version}`);
}
