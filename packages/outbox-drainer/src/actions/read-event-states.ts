import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { OUTBOX_STATUSES } from "./event-filter.ts";

const stateRow = z.object({
  id: z.string(),
  status: z.enum(OUTBOX_STATUSES),
  eventType: z.string(),
  effectEpoch: z.number(),
  replayConsumer: z.string().nullable(),
  blocksLine: z.boolean(),
  /** Its record; null when it stands in a line of its own. */
  recordKey: z.string().nullable(),
});

export type EventState = z.output<typeof stateRow>;

/** The present state of events, by id; unknown ids are absent. Index: the primary key. No lock. */
export async function readEventStates(db: Queryable, ids: readonly string[]): Promise<Map<string, EventState>> {
  const { column } = await recordKeyReady(db);
  const { rows } = await db.query(
    `SELECT "id"::text AS "id", "status"::text AS "status", "eventType", "effectEpoch", "replayConsumer", "blocksLine",
            ${column ? `NULLIF("recordKey", "id"::text)` : "NULL::text"} AS "recordKey"
       FROM "OutboxEvent" WHERE "id" = ANY($1::uuid[])`,
    [ids],
  );
  return new Map(
    z
      .array(stateRow)
      .parse(rows)
      .map((row) => [row.id, row]),
  );
}
