import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { OUTBOX_STATUSES } from "./event-filter.ts";

const requeuedRow = z.object({
  id: z.string(),
  from: z.enum(OUTBOX_STATUSES),
  eventType: z.string(),
  generation: z.number(),
  effectEpoch: z.number(),
  replayConsumer: z.string().nullable(),
  scheduledAt: z.date(),
  retries: z.number(),
  crashes: z.number(),
  lastErrorCode: z.string().nullable(),
  lastError: z.string().nullable(),
  processedAt: z.date().nullable(),
});

/** A requeued event; `from`, `retries`, `crashes`, the error and `processedAt` are those it had before. */
export type RequeuedRow = z.output<typeof requeuedRow>;

/**
 * Makes finished events PENDING again, those of the ids that are FAILED, CANCELLED or DONE at the moment their row is locked.
 *
 * Lock: the rows, in order of id, so that two operators wait for each other instead of deadlocking; the second one then sees PENDING
 * and changes nothing. Index: the primary key. `attempts` stays as history. A crash before the commit changes nothing.
 */
export async function markRequeued(
  tx: Queryable,
  batch: { ids: readonly string[]; jitterMs: number; replayConsumer: string | null },
): Promise<RequeuedRow[]> {
  const { rows } = await tx.query(
    `WITH finished AS MATERIALIZED (
       SELECT e."id", e."status", e."retries", e."crashes", e."lastErrorCode", left(e."lastError", 300) AS "lastError", e."processedAt"
         FROM "OutboxEvent" e
        WHERE e."id" = ANY($1::uuid[]) AND e."status" IN ('FAILED', 'CANCELLED', 'DONE')
        ORDER BY e."id" FOR UPDATE
     )
     UPDATE "OutboxEvent" e
        SET "status" = 'PENDING', "blocksLine" = true, "generation" = e."generation" + 1, "retries" = 0, "crashes" = 0,
            "scheduledAt" = clock_timestamp() + random() * $2::float8 * interval '1 millisecond',
            "processedAt" = NULL, "lastErrorCode" = NULL, "lastError" = NULL, "updatedAt" = clock_timestamp(),
            "effectEpoch" = e."effectEpoch" + CASE WHEN $3::text IS NULL THEN 0 ELSE 1 END,
            "replayConsumer" = COALESCE($3::text, e."replayConsumer")
       FROM finished f
      WHERE e."id" = f."id" AND e."status" IN ('FAILED', 'CANCELLED', 'DONE')
     RETURNING e."id"::text AS "id", f."status"::text AS "from", e."eventType", e."generation", e."effectEpoch", e."replayConsumer",
               e."scheduledAt", f."retries", f."crashes", f."lastErrorCode", f."lastError", f."processedAt"`,
    [batch.ids, batch.jitterMs, batch.replayConsumer],
  );
  return z.array(requeuedRow).parse(rows);
}
