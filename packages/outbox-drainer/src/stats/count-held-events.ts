import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { isOfOwedEpoch } from "../sql/owed-epoch.ts";

const heldRow = z.object({ consumer: z.string(), events: z.number(), dead: z.number(), oldestProcessedAt: z.date() });

/** DONE events that a consumer has not finished; `dead` of them it gave up on in their present generation. Fresh ones are on their way; retention keeps the old ones. */
export type HeldEvents = z.output<typeof heldRow>;

/** Counts handed-off events that lack a `done` receipt of a consumer their route expects. Reads every DONE event: for a person who asks. */
export async function countHeldEvents(
  db: Queryable,
  expected: ReadonlyArray<{ eventType: string; consumer: string }>,
): Promise<HeldEvents[]> {
  if (expected.length === 0) return [];
  const { rows } = await db.query(
    `SELECT x."consumer", count(DISTINCT e."id")::int AS "events", count(DISTINCT d."eventId")::int AS "dead", min(e."processedAt") AS "oldestProcessedAt"
       FROM unnest($1::text[], $2::text[]) AS x("eventType", "consumer")
       JOIN "OutboxEvent" e ON e."eventType" = x."eventType" AND e."status" = 'DONE'
       LEFT JOIN "OutboxReceipt" d ON d."eventId" = e."id" AND d."consumer" = x."consumer" AND d."outcome" = 'dead'
        AND d."generation" = e."generation" AND ${isOfOwedEpoch("d", `x."consumer"`, "e")}
      WHERE NOT EXISTS (SELECT 1 FROM "OutboxReceipt" r WHERE r."eventId" = e."id" AND r."consumer" = x."consumer" AND r."outcome" = 'done'
        AND ${isOfOwedEpoch("r", `x."consumer"`, "e")})
      GROUP BY x."consumer" ORDER BY x."consumer"`,
    [expected.map((pair) => pair.eventType), expected.map((pair) => pair.consumer)],
  );
  return z.array(heldRow).parse(rows);
}
