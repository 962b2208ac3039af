import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";

/**
 * Checks that the server knows a text search configuration: the tables could not hold a chunk of another.
 * @throws CodedError `RECEIVER.PAYLOAD`; installing the configuration and requeuing the event helps
 */
export async function checkLanguage(db: Queryable, language: string): Promise<void> {
  const { rows } = await db.query<{ known: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_ts_config WHERE "cfgname" = $1 AND "cfgnamespace" = 'pg_catalog'::regnamespace) AS "known"`,
    [language],
  );
  if (rows[0]?.known === true) return;
  throw new CodedError("RECEIVER.PAYLOAD", "expected `language` to be a text search configuration of pg_catalog, got another", {
    facts: { paths: ["language"] },
  });
}
