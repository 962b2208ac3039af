import { CodedError } from "@toolctrl/foundation/errors";
import type { Queryable } from "./sql.ts";

/**
 * Checks that a session runs in UTC, which a pooler that drops start-up options can undo.
 * @throws CodedError `DB.NOT_UTC`
 */
export async function assertUtc(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ zone: string; offset: number }>(
    `SELECT current_setting('TimeZone') AS "zone", extract(timezone FROM now())::int AS "offset"`,
  );
  const { zone, offset } = rows[0] ?? { zone: "nothing", offset: Number.NaN };
  if (offset === 0 && /^(Etc\/)?(UTC|UCT|Zulu|GMT)$/i.test(zone)) return;
  throw new CodedError("DB.NOT_UTC", `expected the session time zone to be UTC, got ${zone}`, { facts: { zone, offsetSeconds: offset } });
}
