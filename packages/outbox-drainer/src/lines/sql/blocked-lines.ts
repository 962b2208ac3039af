import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { HELD_CODE } from "../../held/hold.ts";
import { BLOCK_CAUSES, type BlockCause } from "../block-cause.ts";

/** Lines looked at by one question, for each cause. */
export const MAX_LINES_LOOKED_AT = 1000;
/** Waiting events counted in one line. */
export const MAX_DEPTH_COUNTED = 1000;
const MAX_TENANTS_WALKED = 1000;

const NOW = "(SELECT clock_timestamp())";

/**
 * The lines in which somebody waits for somebody, by their heads. Each kind of head is found where it stands, so that lines in which
 * nobody waits cost nothing: parked ones, those in flight, held ones, those in backoff.
 *
 * - Index: "OutboxEvent_parked_idx", "OutboxEvent_expired_idx", "OutboxEvent_held_idx", "OutboxEvent_due_idx" (a walk over tenants) for the candidates;
 *   "OutboxEvent_line_idx" for each one's head, followers and depth. No lock.
 * - Bounds: so many candidates of each kind; "partial" says that there were more.
 */
const LINES = `
WITH RECURSIVE tenants ("tenant", "hop") AS (
  SELECT COALESCE($1::text, (SELECT e."tenantId" FROM "OutboxEvent" e WHERE e."status" = 'PENDING' ORDER BY e."tenantId" LIMIT 1)), 1
  UNION ALL
  SELECT (SELECT e."tenantId" FROM "OutboxEvent" e WHERE e."status" = 'PENDING' AND e."tenantId" > tenants."tenant" ORDER BY e."tenantId" LIMIT 1),
    tenants."hop" + 1
  FROM tenants WHERE tenants."tenant" IS NOT NULL AND $1::text IS NULL AND tenants."hop" < ${MAX_TENANTS_WALKED}
),
parked AS MATERIALIZED (
  SELECT e."tenantId", e."recordKey" FROM "OutboxEvent" e
  WHERE e."status" = 'FAILED' AND e."blocksLine" AND ($1::text IS NULL OR e."tenantId" = $1)
  ORDER BY e."tenantId", e."recordKey", e."position" LIMIT ${MAX_LINES_LOOKED_AT} + 1
),
flying AS MATERIALIZED (
  SELECT e."tenantId", e."recordKey" FROM "OutboxEvent" e
  WHERE e."status" = 'PROCESSING' AND ($1::text IS NULL OR e."tenantId" = $1)
  ORDER BY e."lockedUntil" LIMIT ${MAX_LINES_LOOKED_AT} + 1
),
holding AS MATERIALIZED (
  SELECT e."tenantId", e."recordKey" FROM "OutboxEvent" e
  WHERE e."status" = 'PENDING' AND e."lastErrorCode" = '${HELD_CODE}' AND ($1::text IS NULL OR e."tenantId" = $1)
  LIMIT ${MAX_LINES_LOOKED_AT} + 1
),
backing AS MATERIALIZED (
  SELECT later."tenantId", later."recordKey" FROM tenants CROSS JOIN LATERAL (
    SELECT e."tenantId", e."recordKey" FROM "OutboxEvent" e
    WHERE e."status" = 'PENDING' AND e."tenantId" = tenants."tenant" AND e."scheduledAt" > ${NOW}
    ORDER BY e."scheduledAt" LIMIT ${MAX_LINES_LOOKED_AT} + 1
  ) later LIMIT ${MAX_LINES_LOOKED_AT} + 1
),
heads AS MATERIALIZED (
  SELECT head.*, EXISTS (
      SELECT 1 FROM "OutboxEvent" f WHERE f."blocksLine" AND f."tenantId" = head."tenantId" AND f."recordKey" = head."recordKey"
        AND f."position" > head."position") AS "followed",
    EXISTS (SELECT 1 FROM flying y WHERE y."tenantId" = head."tenantId" AND y."recordKey" = head."recordKey") AS "inFlight"
  FROM (SELECT * FROM parked UNION SELECT * FROM flying UNION SELECT * FROM holding UNION SELECT * FROM backing) c CROSS JOIN LATERAL (
    SELECT h."tenantId", h."recordKey", h."position", h."id", h."eventType", h."status", h."scheduledAt", h."lockedUntil", h."createdAt",
      h."lastErrorCode"
    FROM "OutboxEvent" h WHERE h."blocksLine" AND h."tenantId" = c."tenantId" AND h."recordKey" = c."recordKey" ORDER BY h."position" LIMIT 1
  ) head
),
lines AS MATERIALIZED (
  SELECT heads.*, CASE WHEN heads."status" = 'FAILED' THEN 'parked' WHEN heads."status" = 'PROCESSING' OR heads."inFlight" THEN 'in-flight'
    WHEN heads."scheduledAt" <= ${NOW} THEN NULL WHEN heads."lastErrorCode" = '${HELD_CODE}' THEN 'held' ELSE 'backoff' END AS "cause"
  FROM heads WHERE heads."followed" OR heads."status" = 'FAILED'
),
bounds AS (
  SELECT GREATEST((SELECT count(*) FROM parked), (SELECT count(*) FROM flying), (SELECT count(*) FROM holding), (SELECT count(*) FROM backing)) > ${MAX_LINES_LOOKED_AT}
    OR (SELECT max("hop") FROM tenants) = ${MAX_TENANTS_WALKED} AS "partial"
)`;

const lineSchema = z.object({
  tenantId: z.string(),
  recordKey: z.string(),
  cause: z.enum(BLOCK_CAUSES),
  headId: z.string(),
  headType: z.string(),
  headErrorCode: z.string().nullable(),
  /** Seconds since the head was published. */
  ageSeconds: z.number(),
  /** When the head is due again (backoff), or its lease is over (in flight); null when it waits for a person (parked, held). */
  until: z.date().nullable(),
  /** Events that wait behind the head, 1000 at most. */
  depth: z.number(),
});

export type BlockedLine = z.output<typeof lineSchema>;

/** The blocked lines of one tenant, or of all, those with the oldest head first. */
export async function readBlockedLines(
  db: Queryable,
  request: { tenantId: string | null; limit: number },
): Promise<{ lines: BlockedLine[]; partial: boolean }> {
  const { rows } = await db.query<{ partial: boolean; headId: string | null }>(
    `${LINES}
     SELECT bounds."partial", l.* FROM bounds LEFT JOIN LATERAL (
       SELECT x."tenantId", x."recordKey", x."cause", x."id"::text AS "headId", x."eventType" AS "headType", x."lastErrorCode" AS "headErrorCode",
         extract(epoch FROM clock_timestamp() - x."createdAt")::float8 AS "ageSeconds",
         CASE x."cause" WHEN 'backoff' THEN x."scheduledAt" WHEN 'in-flight' THEN x."lockedUntil" END AS "until",
         (SELECT count(*)::int FROM (
           SELECT 1 FROM "OutboxEvent" f WHERE f."blocksLine" AND f."tenantId" = x."tenantId" AND f."recordKey" = x."recordKey"
             AND f."position" > x."position" LIMIT ${MAX_DEPTH_COUNTED}) behind) AS "depth"
       FROM (SELECT * FROM lines WHERE lines."cause" IS NOT NULL ORDER BY lines."createdAt", lines."position" LIMIT $2) x
     ) l ON true ORDER BY l."ageSeconds" DESC`,
    [request.tenantId, request.limit + 1],
  );
  const found = rows.filter((row) => row.headId !== null);
  const lines = z.array(lineSchema).parse(found.slice(0, request.limit));
  return { lines, partial: rows[0]?.partial === true || found.length > request.limit };
}

/** How many lines are blocked, by cause; {@link MAX_LINES_LOOKED_AT} of each at most. */
export async function countBlockedLines(db: Queryable): Promise<Record<BlockCause, number>> {
  const { rows } = await db.query<{ cause: BlockCause; lines: number }>(
    `${LINES} SELECT "cause", count(*)::int AS "lines" FROM lines WHERE "cause" IS NOT NULL GROUP BY "cause"`,
    [null],
  );
  const counts: Record<BlockCause, number> = { parked: 0, held: 0, backoff: 0, "in-flight": 0 };
  for (const { cause, lines } of rows) counts[cause] = Math.min(lines, MAX_LINES_LOOKED_AT);
  return counts;
}

const dueSchema = z.object({
  due: z.number(),
  /** Those that should have been taken: due for more than a minute, and under pull workers not behind a head that is parked, held or in backoff. */
  overdue: z.number(),
  /** How long the oldest one has been due that waits for no such head; 0 when none has. */
  oldestSeconds: z.number(),
});

export type DueEvents = z.output<typeof dueSchema>;

/** The question about due events, of which those for which `free` is true wait for nobody who is blocked. */
function askDue({ join, free }: { readonly join: string; readonly free: string }): string {
  return `SELECT count(*)::int AS "due",
      count(*) FILTER (WHERE ${free} AND e."scheduledAt" < clock_timestamp() - interval '60 seconds')::int AS "overdue",
      COALESCE(extract(epoch FROM clock_timestamp() - min(e."scheduledAt") FILTER (WHERE ${free})), 0)::float8 AS "oldestSeconds"
    FROM "OutboxEvent" e ${join} WHERE e."status" = 'PENDING' AND e."scheduledAt" <= ${NOW}`;
}

// The batch dispatcher waits for no head. While it drains nobody asks for the lines, so that none is looked for.
const WAITING = `SELECT DISTINCT "tenantId", "recordKey" FROM lines
  WHERE "cause" IN ('parked', 'held', 'backoff') AND (SELECT m."mode" FROM "OutboxMode" m WHERE m."id" = 1) = 'pull'`;
const ASK_WITH_LINES = askDue({
  join: `LEFT JOIN waiting w ON w."tenantId" = e."tenantId" AND w."recordKey" = e."recordKey"`,
  free: `w."tenantId" IS NULL`,
});

/**
 * The due events, and what of them is late. Of more than {@link MAX_LINES_LOOKED_AT} blocked lines those behind the rest count as late too. Reads every due
 * event: for a sampler.
 */
export async function readDueEvents(db: Queryable): Promise<DueEvents> {
  const { rows } = await db.query(`${LINES}, waiting AS MATERIALIZED (${WAITING}) ${ASK_WITH_LINES}`, [null]);
  return dueSchema.parse(rows[0]);
}

/** The same on a table without record keys, where nobody waits for anybody. */
export async function readDueEventsWithoutLines(db: Queryable): Promise<DueEvents> {
  return dueSchema.parse((await db.query(askDue({ join: "", free: "true" }))).rows[0]);
}
