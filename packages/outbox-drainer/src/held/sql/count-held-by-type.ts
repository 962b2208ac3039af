import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { HELD_CODE } from "../hold.ts";

const countRow = z.object({ eventType: z.string(), events: z.number(), oldestAt: z.date() });

/** Held events of one type, and when the oldest of them was published. */
export type HeldCount = z.output<typeof countRow>;

/** Held events by type. Reads them all, and nothing else. Index: "OutboxEvent_held_idx". No lock. */
export async function countHeldByType(db: Queryable): Promise<HeldCount[]> {
  const { rows } = await db.query(
    `SELECT e."eventType", count(*)::int AS "events", min(e."createdAt") AS "oldestAt" FROM "OutboxEvent" e
      WHERE e."status" = 'PENDING' AND e."lastErrorCode" = '${HELD_CODE}' GROUP BY e."eventType" ORDER BY e."eventType"`,
  );
  return z.array(countRow).parse(rows);
}
