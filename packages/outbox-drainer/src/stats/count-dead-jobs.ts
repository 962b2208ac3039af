import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const deadRow = z.object({ consumer: z.string(), jobs: z.number(), newestAt: z.date(), newestDetail: z.string().nullable() });

export type DeadJobs = z.output<typeof deadRow>;

/** Jobs their consumer gave up on, by consumer, with the newest one's error. Index: `OutboxReceipt_dead_idx`. */
export async function countDeadJobs(db: Queryable): Promise<DeadJobs[]> {
  const { rows } = await db.query(
    `SELECT "consumer", count(*)::int AS "jobs", max("updatedAt") AS "newestAt",
            (array_agg("detail" ORDER BY "updatedAt" DESC))[1] AS "newestDetail"
       FROM "OutboxReceipt" WHERE "outcome" = 'dead' GROUP BY "consumer" ORDER BY "consumer"`,
  );
  return z.array(deadRow).parse(rows);
}
