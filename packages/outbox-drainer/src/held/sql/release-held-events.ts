import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { HELD_CODE } from "../hold.ts";

/** Rows looked at by one statement. */
export const RELEASE_LIMIT = 1000;

/** Where the next page starts. */
export interface HeldCursor {
  readonly eventType: string;
  readonly position: string;
}

export const FIRST_HELD: HeldCursor = { eventType: "", position: "0" };

export interface ReleasedPage {
  readonly released: number;
  /** Null when this was the last page. */
  readonly next: HeldCursor | null;
}

const pageSchema = z.object({
  looked: z.number(),
  released: z.number(),
  eventType: z.string().nullable(),
  position: z.string().nullable(),
});

/** Whether nothing that is held stands before this event in its line. Index: "OutboxEvent_line_idx", one descent. */
const LINE_IS_OPEN = `(
  SELECT o."id" = page."id" OR o."status" <> 'PENDING' OR o."lastErrorCode" IS DISTINCT FROM '${HELD_CODE}' FROM "OutboxEvent" o
  WHERE o."blocksLine" AND o."tenantId" = page."tenantId" AND o."recordKey" = page."recordKey" ORDER BY o."position" LIMIT 1)`;

/**
 * Makes a page of held events due again: for the dispatcher all of them; for pull workers those of the types that are not held themselves
 * and have nothing held before them in their line. They are due since they were published, so that they go before what came later.
 *
 * - Lock: the released events, FOR UPDATE SKIP LOCKED. Order and index: "OutboxEvent_held_idx"; the primary key for the UPDATE.
 * - A page whose events all stay is walked past. A crash costs nothing: what is still held is found by the next look.
 */
const statement = (all: boolean): string => `
WITH page AS MATERIALIZED (
  SELECT e."id", e."eventType", e."position"${all ? "" : `, e."tenantId", e."recordKey"`} FROM "OutboxEvent" e
  WHERE e."status" = 'PENDING' AND e."lastErrorCode" = '${HELD_CODE}' AND (e."eventType", e."position") > ($1, $2::bigint)
    ${all ? "" : `AND e."eventType" = ANY ($3::text[])`}
  ORDER BY e."eventType", e."position" LIMIT ${RELEASE_LIMIT}
),
locked AS MATERIALIZED (
  SELECT e."id" FROM "OutboxEvent" e
  WHERE e."id" = ANY (ARRAY(SELECT page."id" FROM page${all ? "" : ` WHERE ${LINE_IS_OPEN}`}))
    AND e."status" = 'PENDING' AND e."lastErrorCode" = '${HELD_CODE}'
  FOR UPDATE OF e SKIP LOCKED
),
released AS (
  UPDATE "OutboxEvent" e
  SET "scheduledAt" = e."createdAt", "lastErrorCode" = NULL, "lastError" = NULL, "updatedAt" = clock_timestamp()
  WHERE e."id" = ANY (ARRAY(SELECT "id" FROM locked))
  RETURNING 1
)
SELECT (SELECT count(*)::int FROM page) AS "looked", (SELECT count(*)::int FROM released) AS "released", last.*
FROM (SELECT 1) one LEFT JOIN LATERAL (
  SELECT page."eventType", page."position"::text AS "position" FROM page ORDER BY page."eventType" DESC, page."position" DESC LIMIT 1
) last ON true`;
const ALL = statement(true);
const OF_TYPES = statement(false);

/** @param types those that are not held themselves; null releases all */
export async function releaseHeldEvents(db: Queryable, after: HeldCursor, types: readonly string[] | null): Promise<ReleasedPage> {
  const cursor = [after.eventType, after.position];
  const { rows } = await db.query<Record<string, unknown>>(types === null ? ALL : OF_TYPES, types === null ? cursor : [...cursor, types]);
  const { looked, released, eventType, position } = pageSchema.parse(rows[0]);
  const last = looked < RELEASE_LIMIT || eventType === null || position === null;
  return { released, next: last ? null : { eventType, position } };
}
