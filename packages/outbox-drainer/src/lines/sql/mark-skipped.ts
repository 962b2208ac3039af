import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const skippedRow = z.object({ id: z.string(), eventType: z.string() });

/**
 * Takes the line away from those of the events that are parked at the moment their row is locked. They stay FAILED, with their error and
 * the time at which they failed.
 *
 * Lock: the rows, in order of id. Index: the primary key. A crash before the commit changes nothing.
 */
export async function markSkipped(tx: Queryable, ids: readonly string[]): Promise<z.output<typeof skippedRow>[]> {
  const { rows } = await tx.query(
    `WITH parked AS MATERIALIZED (
       SELECT e."id" FROM "OutboxEvent" e
        WHERE e."id" = ANY($1::uuid[]) AND e."status" = 'FAILED' AND e."blocksLine" ORDER BY e."id" FOR UPDATE
     )
     UPDATE "OutboxEvent" e SET "blocksLine" = false FROM parked p
      WHERE e."id" = p."id" AND e."status" = 'FAILED' AND e."blocksLine"
     RETURNING e."id"::text AS "id", e."eventType"`,
    [ids],
  );
  return z.array(skippedRow).parse(rows);
}
