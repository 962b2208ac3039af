import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { isDue } from "../../pull/line-tests.ts";

/** Tenants looked at, and due events of each. */
const MAX_TENANTS = 50;
const PER_TENANT = 20;

const rowSchema = z.object({
  id: z.string(),
  headId: z.string(),
  eventType: z.string(),
  outcome: z.enum(["claim", "behind-due", "behind-backoff", "behind-in-flight", "behind-parked"]),
});

/** A due event, the oldest event that holds its line, and what pull workers would do: claim it, or hold it behind that one. */
export type ComparedEvent = z.output<typeof rowSchema>;

/**
 * The oldest due events of each tenant, which the dispatcher would claim next, and what the eligibility of the pull claim says of each.
 * Both sides in one snapshot, so that traffic between two looks is no difference.
 *
 * Lock: none. Index: "OutboxEvent_due_idx" (a walk over tenants, a range in each), "OutboxEvent_line_idx" for the heads.
 */
const statement = `
WITH RECURSIVE tenants ("tenant", "hop") AS (
  SELECT (SELECT e."tenantId" FROM "OutboxEvent" e WHERE e."status" = 'PENDING' ORDER BY e."tenantId" LIMIT 1), 1
  UNION ALL
  SELECT (SELECT e."tenantId" FROM "OutboxEvent" e WHERE e."status" = 'PENDING' AND e."tenantId" > tenants."tenant" ORDER BY e."tenantId" LIMIT 1),
    tenants."hop" + 1
  FROM tenants WHERE tenants."tenant" IS NOT NULL AND tenants."hop" < ${MAX_TENANTS}
)
SELECT due."id"::text AS "id", head."id"::text AS "headId", due."eventType",
  CASE WHEN head."id" = due."id" THEN 'claim' WHEN head."status" = 'FAILED' THEN 'behind-parked'
    WHEN head."status" = 'PROCESSING' THEN 'behind-in-flight' WHEN head."scheduledAt" > (SELECT clock_timestamp()) THEN 'behind-backoff' ELSE 'behind-due' END AS "outcome"
FROM tenants CROSS JOIN LATERAL (
  SELECT w."id", w."tenantId", w."recordKey", w."eventType" FROM "OutboxEvent" w
  WHERE ${isDue("w")} AND w."tenantId" = tenants."tenant" ORDER BY w."scheduledAt", w."position" LIMIT ${PER_TENANT}
) due CROSS JOIN LATERAL (
  SELECT h."id", h."status", h."scheduledAt" FROM "OutboxEvent" h
  WHERE h."blocksLine" AND h."tenantId" = due."tenantId" AND h."recordKey" = due."recordKey" ORDER BY h."position" LIMIT 1
) head`;

/** None on a table without record keys: every event would be claimed. */
export async function compareClaims(db: Queryable): Promise<ComparedEvent[]> {
  const { column } = await recordKeyReady(db);
  if (!column) return [];
  const { rows } = await db.query<Record<string, unknown>>(statement);
  return z.array(rowSchema).parse(rows);
}
