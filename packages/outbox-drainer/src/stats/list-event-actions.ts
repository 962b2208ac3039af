import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const actionRow = z.object({
  id: z.string(),
  actor: z.string(),
  action: z.string(),
  reason: z.string().nullable(),
  before: z.record(z.string(), z.json()).nullable(),
  createdAt: z.date(),
});

/** What an operator did to an event; `before` is the state it had, with the failures that the row has forgotten since. */
export type EventAction = z.output<typeof actionRow>;

/** The operator actions on an event, in order of time. Index: `OutboxAction_eventIds_idx`. */
export async function listEventActions(db: Queryable, eventId: string): Promise<EventAction[]> {
  const { rows } = await db.query(
    `SELECT "id"::text AS "id", "actor", "action", "reason", "createdAt",
            jsonb_path_query_first("params", '$.before[*] ? (@.id == $id)', jsonb_build_object('id', $1::text)) AS "before"
       FROM "OutboxAction" WHERE "eventIds" @> ARRAY[$1::text::uuid] ORDER BY "createdAt", "OutboxAction"."id"`,
    [eventId],
  );
  return z.array(actionRow).parse(rows);
}
