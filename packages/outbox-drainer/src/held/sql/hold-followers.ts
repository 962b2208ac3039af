import type { Queryable } from "@toolctrl/db/sql";
import { isDue } from "../../pull/line-tests.ts";
import { HELD_CODE } from "../hold.ts";
import { HOLD_LIMIT } from "./hold-due-events.ts";

/**
 * Puts off, with their heads, the due events of a tenant that stand behind a held one of their record. They could not be claimed anyway;
 * but a claim looks at a tenant's oldest due events first, and enough of these in front would hide the tenant's other events from it.
 *
 * - Lock: the mode row FOR SHARE; the events FOR UPDATE SKIP LOCKED. Order: by due time, then insert order, like the claim.
 * - Index: "OutboxEvent_due_idx" for the events, "OutboxEvent_line_idx" for each one's head, the primary key for the UPDATE.
 * - Whatever becomes of the head, the release looks at them again (`release-held.ts`). A crash costs nothing.
 *
 * @returns how many were put off.
 */
const statement = `
WITH mode AS MATERIALIZED (
  SELECT 1 FROM "OutboxMode" WHERE "mode" = 'pull' AND "desired" = "mode" FOR SHARE
),
oldest AS MATERIALIZED (
  SELECT w."id", w."tenantId", w."recordKey", w."position" FROM "OutboxEvent" w
  WHERE EXISTS (SELECT 1 FROM mode) AND ${isDue("w")} AND w."tenantId" = $1
  ORDER BY w."scheduledAt", w."position" LIMIT ${HOLD_LIMIT}
),
behind AS MATERIALIZED (
  SELECT oldest."id", head."id" AS "headId", head."scheduledAt" FROM oldest CROSS JOIN LATERAL (
    SELECT h."id", h."position", h."status", h."lastErrorCode", h."scheduledAt" FROM "OutboxEvent" h
    WHERE h."blocksLine" AND h."tenantId" = oldest."tenantId" AND h."recordKey" = oldest."recordKey" ORDER BY h."position" LIMIT 1
  ) head
  WHERE head."position" < oldest."position" AND head."status" = 'PENDING' AND head."lastErrorCode" = '${HELD_CODE}'
    AND head."scheduledAt" > (SELECT clock_timestamp())
),
locked AS MATERIALIZED (
  SELECT e."id" FROM "OutboxEvent" e WHERE e."id" = ANY (ARRAY(SELECT "id" FROM behind)) AND ${isDue("e")}
  FOR UPDATE OF e SKIP LOCKED
)
UPDATE "OutboxEvent" e
SET "scheduledAt" = behind."scheduledAt", "lastErrorCode" = '${HELD_CODE}',
    "lastError" = 'expected to be the oldest event of its record, got the held event ' || behind."headId" || ' before it',
    "updatedAt" = clock_timestamp()
FROM locked JOIN behind ON behind."id" = locked."id" WHERE e."id" = locked."id"`;

export async function holdFollowers(db: Queryable, tenantId: string): Promise<number> {
  const { rowCount } = await db.query(statement, [tenantId]);
  return rowCount ?? 0;
}
