import { checkSession, type BoundedPool } from "@toolctrl/db/client";
import { describeError, isCodedError } from "@toolctrl/foundation/errors";
import pg from "pg";
import { fail, ok, warn, type Check, type Finding } from "../check.ts";

const CONNECT_MS = 3_000;

/** What a pooler undoes that drops start-up options, and what the database has to be set to behind it. */
const UNDONE: Readonly<Record<string, string>> = { "DB.NOT_UTC": "UTC the time zone", "DB.DATE_STYLE": "ISO the date style" };

/**
 * Sessions run in UTC, and write dates as ISO 8601. The product's own ask for it as they start, which only a pooler can undo; those of other programs have what the database
 * or the role says, and a Prisma client among them would write times hours off.
 */
export function createTimeZoneCheck(deps: { readonly pool: BoundedPool; readonly url: string }): Check {
  return { name: "time zone", look: () => lookAt(deps) };
}

async function lookAt({ pool, url }: { readonly pool: BoundedPool; readonly url: string }): Promise<Finding> {
  try {
    await checkSession(pool);
  } catch (error) {
    const setting = isCodedError(error) ? UNDONE[error.code] : undefined;
    if (setting === undefined) throw error;
    return fail(describeError(error), `have the pooler pass start-up options on, or make ${setting} of the database and its roles`);
  }
  const zone = await defaultZone(url);
  if (/^(Etc\/)?(UTC|UCT|Zulu)$/i.test(zone)) return ok("sessions run in UTC");
  const why = `expected sessions that ask for no time zone to be in UTC, got ${zone}; the product's own are in UTC`;
  return warn(why, "run ALTER DATABASE … SET timezone = 'UTC', and look for a SET of the role and an option of the URL");
}

/** What a session has that asks for nothing. */
async function defaultZone(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ zone: string }>(`SELECT current_setting('TimeZone') AS "zone"`);
    return rows[0]?.zone ?? "nothing";
  } finally {
    await client.end().catch(() => undefined);
  }
}
