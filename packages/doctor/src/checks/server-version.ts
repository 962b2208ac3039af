import type { Queryable } from "@toolctrl/db/sql";
import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** The oldest one that the product's own statements and BullMQ's run on. */
const OLDEST_MAJOR = 13;

const ASK = `SELECT current_setting('server_version') AS "version", current_setting('server_version_num')::int / 10000 AS "major",
  pg_is_in_recovery() AS "standby"`;

/** Less than a check may take: no answer is this one's failure, and not a question that could not be asked. */
const ANSWER_MS = 3_000;

/** The database answers, is new enough, and takes writes. The one check that calls an outage by its name; the others cannot be asked then. */
export function createServerVersionCheck(db: Queryable): Check {
  return { name: "database", look: () => lookAt(db) };
}

async function lookAt(db: Queryable): Promise<Finding> {
  let row: { version: string; major: number; standby: boolean } | undefined;
  try {
    const asked = db.query<{ version: string; major: number; standby: boolean }>(ASK);
    row = (await withDeadline(asked, ANSWER_MS, () => new Error(`none within ${ANSWER_MS} ms`))).rows[0];
  } catch (error) {
    return fail(`expected the database to answer, got: ${describeError(error, 300)}`, "start it, or correct DATABASE_URL");
  }
  if (row === undefined) return fail("expected the database to tell its version, got nothing", "correct DATABASE_URL");
  if (row.major < OLDEST_MAJOR)
    return fail(`expected PostgreSQL ${OLDEST_MAJOR} or newer, got ${row.version}`, "upgrade the database's server");
  if (row.standby) return fail("expected a server that takes writes, got a standby", "point DATABASE_URL at the primary");
  return ok(`PostgreSQL ${row.version}`);
}
