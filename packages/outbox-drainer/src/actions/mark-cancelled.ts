import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { OUTBOX_STATUSES } from "./event-filter.ts";

const cancelledRow = z.object({ id: z.string(), from: z.enum(OUTBOX_STATUSES), eventType: z.string() });

export type CancelledRow = z.output<typeof cancelledRow>;

/**
 * Cancels those of the events that are PENDING or FAILED at the moment their row is locked; one that a drainer claims first stays its own.
 * The error of a FAILED event stays readable.
 *
 * Lock: the rows, in order of id. Index: the primary key. A crash before the commit changes nothing.
 */
export async function markCancelled(tx: Queryable, ids: readonly string[]): Promise<CancelledRow[]> {
  const { rows } = await tx.query(
    `WITH open AS MATERIALIZED (
       SELECT e."id", e."status" FROM "OutboxEvent" e
        WHERE e."id" = ANY($1::uuid[]) AND e."status" IN ('PENDING', 'FAILED')
        ORDER BY e."id" FOR UPDATE
     )
     UPDATE "OutboxEvent" e SET "status" = 'CANCELLED', "blocksLine" = false, "updatedAt" = clock_timestamp()
       FROM open o
      WHERE e."id" = o."id" AND e."status" IN ('PENDING', 'FAILED')
     RETURNING e."id"::text AS "id", o."status"::text AS "from", e."eventType"`,
    [ids],
  );
  return z.array(cancelledRow).parse(rows);
}
