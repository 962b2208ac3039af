import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const deadRow = z.object({ consumer: z.string(), jobs: z.number(), newestAt: z.date(), newestDetail: z.string().nullable() });

export type DeadJobs = z.output<typeof deadRow>;

/**
 * What consumers gave up on, by consumer, with the newest one's error: the jobs of an event that has several of one consumer, each with a receipt
 * `consumer/target`, count once with the receipt that sums them up. Index: `OutboxReceipt_dead_idx`.
 */
export async function countDeadJobs(db: Queryable): Promise<DeadJobs[]> {
  const { rows } = await db.query(
    `SELECT split_part("consumer", '/', 1) AS "consumer", count(DISTINCT ("eventId", "effectEpoch"))::int AS "jobs", max("updatedAt") AS "newestAt",
            (array_agg("detail" ORDER BY "updatedAt" DESC))[1] AS "newestDetail"
       FROM "OutboxReceipt" WHERE "outcome" = 'dead' GROUP BY 1 ORDER BY 1`,
  );
  return z.array(deadRow).parse(rows);
}
