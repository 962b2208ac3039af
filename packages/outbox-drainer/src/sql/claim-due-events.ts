import { MAX_INLINE_PAYLOAD_BYTES } from "@toolctrl/foundation/json";
import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { CLAIMED_BODY, claimedColumns, claimedEventColumns, claimedEventsOf, type ClaimedEvent } from "../claimed-event.ts";

export interface ClaimRequest {
  /** The epoch of the mode row this process works under. */
  readonly epoch: bigint;
  /** Claimed at most. */
  readonly limit: number;
  readonly leaseMs: number;
  /** The fence: fresh for each claim. */
  readonly lockToken: string;
  /** Tenants are walked from behind this one, then from the start. */
  readonly afterTenant: string;
  /** Whether the live table has "recordKey". Default true. */
  readonly keyed?: boolean;
}

export interface Claim {
  /** In insert order. */
  readonly events: ClaimedEvent[];
  /** Where the next walk goes on. */
  readonly lastTenant: string;
  /** Whether due events were seen that this claim had no room for. */
  readonly more: boolean;
}

/** Tenants looked at by one claim. One index probe each; 1,000 probes take about 4 ms. */
const MAX_TENANTS_WALKED = 1000;

const rowSchema = z.object({ lastTenant: z.string().nullable(), more: z.boolean(), id: z.string().nullable() });

/**
 * Claims due events for the batch dispatcher, a fair share of each tenant: `limit` rows at most, never a claimed one.
 *
 * - Lock: the mode row FOR SHARE (a switch of the drainer waits for us, and afterwards we claim nothing); the events FOR UPDATE SKIP LOCKED.
 * - Order: round robin over tenants, inside a tenant by due time, then insert order.
 * - Index: "OutboxEvent_due_idx", for the walk, the counting and the locking scan; the primary key for the UPDATE. The ids go there as
 *   an array: joined, the planner took the locked rows for 50,000 and read the whole table for each claim.
 * - The scan that locks repeats every state test: ids chosen earlier and locked by id were claimed twice in 1,518 of 3,000 tries.
 * - The share of a tenant is counted without locks first, so a claim never locks rows that it will not take.
 * - `(SELECT clock_timestamp())`, not the bare call: a volatile call is no index condition.
 * - A crash after this statement costs one lease.
 */
const statement = (keyed: boolean): string => `
WITH RECURSIVE mode AS MATERIALIZED (
  SELECT 1 FROM "OutboxMode" WHERE "mode" = 'batch' AND "epoch" = $1 AND "desired" = "mode" FOR SHARE
),
walk ("tenant", "hop", "found", "lap", "due") AS (
  SELECT $5::text, 0, 0, 0, false
  UNION ALL
  SELECT next."tenant", walk."hop" + 1, walk."found" + next."due"::int, next."lap", next."due"
  FROM walk CROSS JOIN LATERAL (
    (SELECT e."tenantId" AS "tenant", walk."lap" AS "lap", e."scheduledAt" <= (SELECT clock_timestamp()) AS "due"
     FROM "OutboxEvent" e WHERE e."status" = 'PENDING' AND e."tenantId" > walk."tenant"
     ORDER BY e."tenantId", e."scheduledAt", e."position" LIMIT 1)
    UNION ALL
    (SELECT e."tenantId", 1, e."scheduledAt" <= (SELECT clock_timestamp())
     FROM "OutboxEvent" e WHERE walk."lap" = 0 AND e."status" = 'PENDING' AND e."tenantId" > ''
     ORDER BY e."tenantId", e."scheduledAt", e."position" LIMIT 1)
    ORDER BY "lap" LIMIT 1
  ) next
  WHERE walk."hop" < ${MAX_TENANTS_WALKED} AND walk."found" < $2 AND (next."lap" = 0 OR next."tenant" <= $5)
),
share AS MATERIALIZED (
  SELECT LEAST($2::int, 4 * CEIL($2::numeric / GREATEST(max("found"), 1)))::int AS "most" FROM walk
),
due AS MATERIALIZED (
  SELECT walk."tenant", walk."hop", counted."seen", counted."seen" >= share."most" AS "full"
  FROM walk CROSS JOIN share CROSS JOIN LATERAL (
    SELECT count(*)::int AS "seen" FROM (
      SELECT 1 FROM "OutboxEvent" e
      WHERE e."status" = 'PENDING' AND e."tenantId" = walk."tenant" AND e."scheduledAt" <= (SELECT clock_timestamp())
      LIMIT share."most") x
  ) counted
  WHERE walk."due"
),
take AS MATERIALIZED (
  SELECT "tenant", max("hop") AS "hop", count(*) AS "rows" FROM (
    SELECT due."tenant", due."hop" FROM due CROSS JOIN LATERAL generate_series(1, due."seen") turn
    ORDER BY turn, due."hop" LIMIT $2
  ) ranked GROUP BY "tenant"
),
locked AS MATERIALIZED (
  SELECT picked."id" FROM take CROSS JOIN LATERAL (
    SELECT e."id" FROM "OutboxEvent" e
    WHERE EXISTS (SELECT 1 FROM mode)
      AND e."status" = 'PENDING' AND e."tenantId" = take."tenant" AND e."scheduledAt" <= (SELECT clock_timestamp())
    ORDER BY e."scheduledAt", e."position" LIMIT take."rows"
    FOR UPDATE OF e SKIP LOCKED
  ) picked
),
claimed AS (
  UPDATE "OutboxEvent" e
  SET "status" = 'PROCESSING', "lockToken" = $4::uuid, "claimMode" = 'batch', "attempts" = e."attempts" + 1,
      "lockedUntil" = clock_timestamp() + $3::float8 * interval '1 millisecond', "updatedAt" = clock_timestamp()
  WHERE e."id" = ANY (ARRAY(SELECT "id" FROM locked))
  RETURNING ${claimedColumns(keyed)}
)
SELECT progress.*, ${claimedEventColumns("$6")} FROM (
  SELECT (SELECT "tenant" FROM walk WHERE "hop" = COALESCE((SELECT max("hop") FROM take), (SELECT max("hop") FROM walk)) LIMIT 1) AS "lastTenant",
         COALESCE((SELECT bool_or("full") OR sum("seen") >= $2 FROM due), false) AS "more"
) progress LEFT JOIN claimed ON true LEFT JOIN ${CLAIMED_BODY} ON true`;
const KEYED = statement(true);
const UNKEYED = statement(false);

export async function claimDueEvents(db: Queryable, request: ClaimRequest): Promise<Claim> {
  const { rows } = await db.query<Record<string, unknown>>(request.keyed === false ? UNKEYED : KEYED, [
    request.epoch,
    request.limit,
    request.leaseMs,
    request.lockToken,
    request.afterTenant,
    MAX_INLINE_PAYLOAD_BYTES,
  ]);
  const progress = rowSchema.parse(rows[0]);
  const events = progress.id === null ? [] : claimedEventsOf(rows);
  events.sort((a, b) => comparePositions(a.position, b.position));
  return { events, lastTenant: progress.lastTenant ?? "", more: events.length > 0 && progress.more };
}

/** Compares two bigints in decimal text. */
function comparePositions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
