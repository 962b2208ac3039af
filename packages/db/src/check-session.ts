import { CodedError } from "@toolctrl/foundation/errors";
import type pg from "pg";

export interface Session {
  /** Whether the connection ends at the server itself; false behind a pooler, which hands each transaction to any session. */
  readonly direct: boolean;
}

interface Row extends pg.QueryResultRow {
  readonly zone: string;
  readonly offset: number;
  readonly style: string;
  readonly pid: number;
}

/** The driver knows the bound and its types do not. A pooler that is paused takes a login and answers nothing more. */
const ASK: pg.QueryConfig & { readonly query_timeout: number } = {
  text: `SELECT current_setting('TimeZone') AS "zone", extract(timezone FROM now())::int AS "offset",
                current_setting('DateStyle') AS "style", pg_backend_pid() AS "pid"`,
  query_timeout: 5_000,
};

/**
 * Checks that sessions run in UTC and write dates as ISO 8601, which a pooler that drops start-up options can undo.
 * @throws CodedError `DB.NOT_UTC`, `DB.DATE_STYLE`, `DB.POOL_TIMEOUT`; the driver's error when there is no answer
 */
export async function checkSession(pool: pg.Pool): Promise<Session> {
  const client = await pool.connect();
  let sound = false;
  try {
    const { rows } = await client.query<Row>(ASK);
    sound = true;
    const { zone, offset, style, pid } = rows[0] ?? { zone: "nothing", offset: Number.NaN, style: "nothing", pid: 0 };
    if (offset !== 0 || !/^(Etc\/)?(UTC|UCT|Zulu)$/i.test(zone)) {
      throw new CodedError("DB.NOT_UTC", `expected the session time zone to be UTC, got ${zone}`, {
        facts: { zone, offsetSeconds: offset },
      });
    }
    if (!style.startsWith("ISO")) {
      throw new CodedError("DB.DATE_STYLE", `expected the session's date style to be ISO, got ${style}`, { facts: { style } });
    }
    // A pooler announces a process id of its own.
    return { direct: (client as pg.PoolClient & { readonly processID?: number | null }).processID === pid };
  } finally {
    client.release(!sound);
  }
}
