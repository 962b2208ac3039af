import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const backlogRow = z.object({ due: z.number(), oldestDueSeconds: z.number().nullable(), expiredClaims: z.number() });

export type Backlog = z.output<typeof backlogRow>;

/**
 * What waits: events that are due now, how long the oldest has been due (seconds, null when none is), and claims whose lease ran out.
 * Indexes: `OutboxEvent_due_idx`, `OutboxEvent_expired_idx`.
 */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const { rows } = await db.query(
    `SELECT count(*)::int AS "due", extract(epoch FROM clock_timestamp() - min("scheduledAt"))::float8 AS "oldestDueSeconds",
            (SELECT count(*)::int FROM "OutboxEvent" WHERE "status" = 'PROCESSING' AND "lockedUntil" <= (SELECT clock_timestamp())) AS "expiredClaims"
       FROM "OutboxEvent" WHERE "status" = 'PENDING' AND "scheduledAt" <= (SELECT clock_timestamp())`,
  );
  return backlogRow.parse(rows[0]);
}
