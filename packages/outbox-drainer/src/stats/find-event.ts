import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { eventColumns, eventRow } from "./event-row.ts";

const fullRow = eventRow.extend({ payload: z.json() });

export type EventRow = z.output<typeof fullRow>;

/** One event with its payload, or null. Index: the primary key. No lock. */
export async function findEvent(db: Queryable, id: string): Promise<EventRow | null> {
  const { rows } = await db.query(`SELECT ${eventColumns}, e."payload" FROM "OutboxEvent" e WHERE e."id" = $1::uuid`, [id]);
  return rows[0] === undefined ? null : fullRow.parse(rows[0]);
}
