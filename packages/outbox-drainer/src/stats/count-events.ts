import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { OUTBOX_STATUSES } from "../actions/event-filter.ts";

const countRow = z.object({ status: z.enum(OUTBOX_STATUSES), eventType: z.string(), events: z.number() });

export type EventCount = z.output<typeof countRow>;

/** How many events there are of each type and state. Reads the whole table: for a person who asks, never for a scrape. */
export async function countEvents(db: Queryable): Promise<EventCount[]> {
  const { rows } = await db.query(
    `SELECT "status"::text AS "status", "eventType", count(*)::int AS "events" FROM "OutboxEvent" GROUP BY "status", "eventType"`,
  );
  return z.array(countRow).parse(rows);
}
