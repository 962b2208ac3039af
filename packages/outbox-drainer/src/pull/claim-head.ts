import type { Queryable } from "@toolctrl/db/sql";
import { MAX_INLINE_PAYLOAD_BYTES } from "@toolctrl/foundation/json";
import { z } from "zod";
import { CLAIMED_BODY, claimedColumns, claimedEventColumns, claimedEventsOf, type ClaimedEvent } from "../claimed-event.ts";
import { isDue, isHead, lineIsFree } from "./line-tests.ts";

export interface HeadRequest {
  /** The epoch of the mode row this process works under. */
  readonly epoch: bigint;
  readonly leaseMs: number;
  /** The fence: fresh for each claim. */
  readonly lockToken: string;
  /** Tenants are walked from behind this one, then from the start. */
  readonly afterTenant: string;
  /** Where the scan over line heads goes on, by tenant. */
  readonly afterKeys: Readonly<Record<string, string>>;
}

/** Where the next claim goes on: behind this tenant, and in it (null: it was not scanned) behind this record key. */
export interface HeadCursor {
  readonly tenant: string;
  readonly key: string | null;
}

/** `closed`: another mode or epoch is in force. `none` with `more`: a bound ended the search, another claim goes on from its cursor. */
export type HeadClaim =
  | { readonly kind: "closed" }
  | { readonly kind: "none"; readonly cursor: HeadCursor; readonly more: boolean }
  | { readonly kind: "claimed"; readonly event: ClaimedEvent; readonly cursor: HeadCursor };

/** Tenants walked by one claim, and those of them with due events that are looked into. */
const MAX_TENANTS_WALKED = 1000;
const MAX_TENANTS_TRIED = 32;
/** Due events of a tenant that are looked at in due order. */
const WINDOW = 32;
/** Line heads that one claim walks in the first tenant, when its window gave nothing. */
const MAX_HEADS_WALKED = 128;

const rowSchema = z.object({
  open: z.boolean(),
  tenant: z.string().nullable(),
  key: z.string().nullable(),
  more: z.boolean(),
  id: z.string().nullable(),
});

/** The first event among the oldest due ones of a tenant that may be claimed, locked. */
const fromWindow = (tenant: string): string => `
  SELECT locked."id" FROM (
    SELECT w."id", w."tenantId", w."recordKey", w."position" FROM "OutboxEvent" w
    WHERE ${isDue("w")} AND w."tenantId" = ${tenant} ORDER BY w."scheduledAt", w."position" LIMIT ${WINDOW}
  ) oldest CROSS JOIN LATERAL (${lockIfEligible("oldest")}) locked
  WHERE ${isHead("oldest")} LIMIT 1`;

/** The locking scan repeats every state test: an id that was chosen earlier may be claimed by now. */
function lockIfEligible(chosen: string): string {
  return `SELECT e."id" FROM "OutboxEvent" e
    WHERE e."id" = ${chosen}."id" AND EXISTS (SELECT 1 FROM mode) AND ${isDue("e")} AND ${isHead("e")} AND ${lineIsFree("e")}
    FOR UPDATE OF e SKIP LOCKED`;
}

const windowIsFull = (tenant: string): string => `(
  SELECT count(*) FROM (SELECT 1 FROM "OutboxEvent" w WHERE ${isDue("w")} AND w."tenantId" = ${tenant} LIMIT ${WINDOW}) x) = ${WINDOW}`;

/**
 * Claims one event that nothing older of its record stands before: the pull worker's claim, short and visible to everyone.
 *
 * - Lock: the mode row FOR SHARE (a switch of the drainer waits for us, and afterwards we claim nothing); one event FOR UPDATE SKIP LOCKED.
 * - Order: tenants in turn, inside one the oldest due event that heads its line. When the window of a tenant's oldest due events is full
 *   and gives nothing, its line heads are walked in key order, a bounded stretch each time: so 100,000 events that wait behind one
 *   record cost a window and a step, not a scan. Only the first tenant of a claim is walked so; the next claim starts behind it.
 * - Index: "OutboxEvent_due_idx" for tenants and windows, "OutboxEvent_line_idx" for heads, "OutboxEvent_in_flight_key" for the rest.
 * - CTEs and the UNION are read row by row and only until one is found, so the order in which they stand is the order of the search.
 * - Not prepared by name: half of its time is planning, but a plan kept from when the table was small would be used on a large one.
 * - Unique: "OutboxEvent_in_flight_key"; a requeue that raced us makes this fail with 23505, and the caller claims again.
 * - A crash after this statement costs one lease.
 */
export const CLAIM_HEAD_SQL = `
WITH RECURSIVE mode AS MATERIALIZED (
  SELECT 1 FROM "OutboxMode" WHERE "mode" = 'pull' AND "epoch" = $1 AND "desired" = "mode" FOR SHARE
),
walk ("tenant", "hop", "tried", "lap", "due") AS (
  SELECT $4::text, 0, 0, 0, false WHERE EXISTS (SELECT 1 FROM mode)
  UNION ALL
  SELECT next."tenant", walk."hop" + 1, walk."tried" + next."due"::int, next."lap", next."due"
  FROM walk CROSS JOIN LATERAL (
    (SELECT e."tenantId" AS "tenant", walk."lap" AS "lap", e."scheduledAt" <= (SELECT clock_timestamp()) AS "due"
     FROM "OutboxEvent" e WHERE e."status" = 'PENDING' AND e."tenantId" > walk."tenant"
     ORDER BY e."tenantId", e."scheduledAt", e."position" LIMIT 1)
    UNION ALL
    (SELECT e."tenantId", 1, e."scheduledAt" <= (SELECT clock_timestamp())
     FROM "OutboxEvent" e WHERE walk."lap" = 0 AND e."status" = 'PENDING' AND e."tenantId" > ''
     ORDER BY e."tenantId", e."scheduledAt", e."position" LIMIT 1)
    LIMIT 1
  ) next
  WHERE walk."hop" < ${MAX_TENANTS_WALKED} AND walk."tried" < ${MAX_TENANTS_TRIED} AND (next."lap" = 0 OR next."tenant" <= $4)
),
turn AS MATERIALIZED (SELECT walk."tenant", walk."hop" FROM walk WHERE walk."due" LIMIT 1),
heads ("tenant", "start", "key", "id", "ready", "hop", "lap") AS (
  SELECT turn."tenant", COALESCE($6::jsonb ->> turn."tenant", ''), COALESCE($6::jsonb ->> turn."tenant", ''), NULL::uuid, false, 0, 0
  FROM turn WHERE ${windowIsFull(`turn."tenant"`)}
  UNION ALL
  SELECT heads."tenant", heads."start", next."key", next."id", next."ready", heads."hop" + 1, next."lap"
  FROM heads CROSS JOIN LATERAL (
    (SELECT o."recordKey" AS "key", o."id" AS "id", ${isDue("o")} AS "ready", heads."lap" AS "lap"
     FROM "OutboxEvent" o WHERE o."blocksLine" AND o."tenantId" = heads."tenant" AND o."recordKey" > heads."key"
     ORDER BY o."tenantId", o."recordKey", o."position" LIMIT 1)
    UNION ALL
    (SELECT o."recordKey", o."id", ${isDue("o")}, 1
     FROM "OutboxEvent" o WHERE heads."lap" = 0 AND o."blocksLine" AND o."tenantId" = heads."tenant" AND o."recordKey" > ''
     ORDER BY o."tenantId", o."recordKey", o."position" LIMIT 1)
    LIMIT 1
  ) next
  WHERE heads."hop" < ${MAX_HEADS_WALKED} AND (next."lap" = 0 OR next."key" <= heads."start")
),
found AS MATERIALIZED (
  SELECT * FROM (
    (SELECT picked."id", NULL::text AS "key", false AS "walked" FROM turn CROSS JOIN LATERAL (${fromWindow(`turn."tenant"`)}) picked)
    UNION ALL
    (SELECT picked."id", heads."key", true FROM heads CROSS JOIN LATERAL (${lockIfEligible("heads")}) picked WHERE heads."ready" LIMIT 1)
    UNION ALL
    (SELECT picked."id", NULL, false FROM walk CROSS JOIN LATERAL (${fromWindow(`walk."tenant"`)}) picked
     WHERE walk."due" AND walk."hop" > (SELECT "hop" FROM turn) LIMIT 1)
  ) search LIMIT 1
),
claimed AS (
  UPDATE "OutboxEvent" e
  SET "status" = 'PROCESSING', "lockToken" = $3::uuid, "claimMode" = 'pull', "attempts" = e."attempts" + 1,
      "lockedUntil" = clock_timestamp() + $2::float8 * interval '1 millisecond', "updatedAt" = clock_timestamp()
  WHERE e."id" = ANY (ARRAY(SELECT "id" FROM found))
  RETURNING ${claimedColumns(true)}
)
SELECT progress.*, ${claimedEventColumns("$5")} FROM (
  SELECT EXISTS (SELECT 1 FROM mode) AS "open",
    COALESCE((SELECT "tenant" FROM turn), (SELECT "tenant" FROM walk ORDER BY "hop" DESC LIMIT 1)) AS "tenant",
    CASE WHEN (SELECT "id" FROM found) IS NULL THEN (SELECT "key" FROM heads ORDER BY "hop" DESC LIMIT 1) ELSE (SELECT "key" FROM found) END AS "key",
    CASE WHEN (SELECT "id" FROM found) IS NOT NULL THEN true ELSE
      EXISTS (SELECT 1 FROM walk WHERE "hop" = ${MAX_TENANTS_WALKED} OR "tried" = ${MAX_TENANTS_TRIED})
      OR EXISTS (SELECT 1 FROM heads WHERE "hop" = ${MAX_HEADS_WALKED})
      OR EXISTS (SELECT 1 FROM walk WHERE walk."due" AND walk."hop" > (SELECT "hop" FROM turn) AND ${windowIsFull(`walk."tenant"`)})
    END AS "more"
) progress LEFT JOIN claimed ON true LEFT JOIN ${CLAIMED_BODY} ON true`;

/** @throws the driver's error 23505 on "OutboxEvent_in_flight_key" when an older event of the line came back meanwhile: claim again. */
export async function claimHead(db: Queryable, request: HeadRequest): Promise<HeadClaim> {
  const { rows } = await db.query<Record<string, unknown>>(CLAIM_HEAD_SQL, [
    request.epoch,
    request.leaseMs,
    request.lockToken,
    request.afterTenant,
    MAX_INLINE_PAYLOAD_BYTES,
    JSON.stringify(request.afterKeys),
  ]);
  const progress = rowSchema.parse(rows[0]);
  if (!progress.open) return { kind: "closed" };
  const cursor = { tenant: progress.tenant ?? "", key: progress.key };
  if (progress.id === null) return { kind: "none", cursor, more: progress.more };
  const [event] = claimedEventsOf(rows);
  return event === undefined ? { kind: "none", cursor, more: progress.more } : { kind: "claimed", event, cursor };
}
