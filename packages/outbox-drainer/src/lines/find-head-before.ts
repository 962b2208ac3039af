import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { HELD_CODE } from "../held/hold.ts";
import { BLOCK_CAUSES } from "./block-cause.ts";

const headSchema = z.object({ id: z.string(), recordKey: z.string(), cause: z.enum([...BLOCK_CAUSES, "due"]) });

/** The oldest event that holds the line of a record, and what it waits for itself; `due`: for a pull worker. */
export type LineHead = z.output<typeof headSchema>;

/** What an event waits behind: the head of its line, or null when that is the event itself. Index: "OutboxEvent_line_idx". No lock. */
export async function findHeadBefore(db: Queryable, eventId: string): Promise<LineHead | null> {
  const { column } = await recordKeyReady(db);
  if (!column) return null;
  const { rows } = await db.query(
    `SELECT h."id"::text AS "id", h."recordKey", CASE WHEN h."status" = 'FAILED' THEN 'parked' WHEN h."status" = 'PROCESSING' THEN 'in-flight'
              WHEN h."scheduledAt" <= (SELECT clock_timestamp()) THEN 'due' WHEN h."lastErrorCode" = '${HELD_CODE}' THEN 'held' ELSE 'backoff' END AS "cause"
       FROM "OutboxEvent" e CROSS JOIN LATERAL (
         SELECT o.* FROM "OutboxEvent" o
          WHERE o."blocksLine" AND o."tenantId" = e."tenantId" AND o."recordKey" = e."recordKey" ORDER BY o."position" LIMIT 1
       ) h WHERE e."id" = $1::uuid AND h."position" < e."position"`,
    [eventId],
  );
  return rows[0] === undefined ? null : headSchema.parse(rows[0]);
}
