import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import type { Voter } from "../decide-mode.ts";

const voterSchema = z.object({
  app: z.string(),
  host: z.string(),
  pid: z.number(),
  vote: z.enum(["false", "shadow", "true"]),
  blockers: z.array(z.string()).nullable(),
});

/**
 * The live processes that drain, oldest first. No lock; the table has a row for each process.
 * `blockers` is read through the whole row: a database from before that column has processes that have said nothing.
 */
export async function readVoters(db: Queryable): Promise<Voter[]> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT d."app", d."host", d."pid", d."vote", NULLIF(to_jsonb(d) -> 'blockers', 'null'::jsonb) AS "blockers" FROM "OutboxDrainer" d
      WHERE d."drains" AND d."aliveUntil" > (SELECT clock_timestamp()) ORDER BY d."startedAt", d."id"`,
  );
  return z.array(voterSchema).parse(rows);
}
