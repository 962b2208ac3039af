import type { Queryable } from "@toolctrl/db/sql";
import { HELD_CODE } from "../hold.ts";

const ofHeld = (alias: string): string => `${alias}."status" = 'PENDING' AND ${alias}."lastErrorCode" = '${HELD_CODE}'`;

/** The event types among the held events: a hop over the index for each, however many events there are. Index: "OutboxEvent_held_idx". No lock. */
const statement = `
WITH RECURSIVE types ("type") AS (
  (SELECT e."eventType" FROM "OutboxEvent" e WHERE ${ofHeld("e")} ORDER BY e."eventType" LIMIT 1)
  UNION ALL
  SELECT (SELECT e."eventType" FROM "OutboxEvent" e WHERE ${ofHeld("e")} AND e."eventType" > types."type" ORDER BY e."eventType" LIMIT 1)
  FROM types WHERE types."type" IS NOT NULL
)
SELECT "type" FROM types WHERE "type" IS NOT NULL`;

export async function listHeldTypes(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ type: string }>(statement);
  return rows.map(({ type }) => type);
}
