import type { Queryable } from "@toolctrl/db/sql";
import { isDue } from "../../pull/line-tests.ts";
import { HELD_CODE } from "../hold.ts";

/** Due events of a tenant that are looked at by one statement. */
export const HOLD_LIMIT = 1000;

/**
 * Puts off the events of one type among the oldest due ones of a tenant, many at once: claimed one by one, a large backlog of a held
 * route would keep the pull workers busy, and the tenant's other events would wait behind it all that time.
 *
 * - Lock: the mode row FOR SHARE, so that nothing is put off once the dispatcher is to run; the events FOR UPDATE SKIP LOCKED.
 * - Order: by due time, then insert order, like the claim. Index: "OutboxEvent_due_idx"; the primary key for the UPDATE.
 * - The scan that locks repeats every state test. A crash costs nothing: the next event of this type that is claimed goes on.
 *
 * @returns how many were put off.
 */
const statement = `
WITH mode AS MATERIALIZED (
  SELECT 1 FROM "OutboxMode" WHERE "mode" = 'pull' AND "desired" = "mode" FOR SHARE
),
oldest AS MATERIALIZED (
  SELECT w."id", w."eventType" FROM "OutboxEvent" w
  WHERE EXISTS (SELECT 1 FROM mode) AND ${isDue("w")} AND w."tenantId" = $1
  ORDER BY w."scheduledAt", w."position" LIMIT ${HOLD_LIMIT}
),
locked AS MATERIALIZED (
  SELECT e."id" FROM "OutboxEvent" e
  WHERE e."id" = ANY (ARRAY(SELECT "id" FROM oldest WHERE "eventType" = $2)) AND ${isDue("e")}
  FOR UPDATE OF e SKIP LOCKED
)
UPDATE "OutboxEvent" e
SET "scheduledAt" = clock_timestamp() + $3::float8 * interval '1 millisecond', "lastErrorCode" = '${HELD_CODE}', "lastError" = $4,
    "updatedAt" = clock_timestamp()
WHERE e."id" = ANY (ARRAY(SELECT "id" FROM locked))`;

export async function holdDueEvents(
  db: Queryable,
  request: { readonly tenantId: string; readonly eventType: string; readonly delayMs: number; readonly error: string },
): Promise<number> {
  const { tenantId, eventType, delayMs, error } = request;
  const { rowCount } = await db.query(statement, [tenantId, eventType, delayMs, error]);
  return rowCount ?? 0;
}
