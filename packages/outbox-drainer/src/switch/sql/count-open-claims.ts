import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const openSchema = z.object({ claims: z.number(), until: z.date().nullable() });

/** Claims whose lease is not over, and when the last of them will be. Index: "OutboxEvent_expired_idx". No lock. */
export async function countOpenClaims(db: Queryable): Promise<z.output<typeof openSchema>> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT count(*)::int AS "claims", max("lockedUntil") AS "until" FROM "OutboxEvent"
      WHERE "status" = 'PROCESSING' AND "lockedUntil" > (SELECT clock_timestamp())`,
  );
  return openSchema.parse(rows[0]);
}
