import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule } from "@toolctrl/event-router/router";
import { z } from "zod";

export interface Cursor {
  readonly processedAt: string;
  readonly id: string;
}

/** Sorts before every event. */
export const START_OF_TIME: Cursor = { processedAt: "-infinity", id: "00000000-0000-0000-0000-000000000000" };

export interface PurgePage {
  readonly deleted: number;
  readonly held: Readonly<Record<string, number>>;
  /** Where the next page starts; null when this was the last. */
  readonly next: Cursor | null;
}

const rowSchema = z.object({
  looked: z.number(),
  deleted: z.number(),
  held: z.record(z.string(), z.number()),
  lastProcessedAt: z.string().nullable(),
  lastId: z.string().nullable(),
});

/**
 * Looks at one page of old DONE events and deletes those that have a `done` receipt of every consumer their route expects. An event
 * without a route is held: nobody knows what it still owes.
 *
 * - Lock: the events that are deleted, FOR UPDATE SKIP LOCKED (an operator's requeue wins). Order and index: "OutboxEvent_retention_idx".
 * - A page is walked past even when all of it is held, so that held events never stop the purge.
 * - A crash costs nothing: the next run starts from the oldest again.
 */
const statement = `
WITH routes AS (
  SELECT r."prefix", r."consumers" FROM jsonb_to_recordset($1::jsonb) AS r("prefix" text, "consumers" text[])
),
page AS MATERIALIZED (
  SELECT e."id", e."eventType", e."processedAt" FROM "OutboxEvent" e
  WHERE e."status" = 'DONE' AND e."processedAt" < (SELECT clock_timestamp()) - $2::float8 * interval '1 hour'
    AND (e."processedAt", e."id") > ($4::timestamptz, $5::uuid)
  ORDER BY e."processedAt", e."id" LIMIT $3
),
judged AS MATERIALIZED (
  SELECT page."id", COALESCE(route."prefix", '(no route)') AS "prefix",
    route."prefix" IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM unnest(route."consumers") AS c("consumer") WHERE NOT EXISTS (
        SELECT 1 FROM "OutboxReceipt" r WHERE r."eventId" = page."id" AND r."consumer" = c."consumer" AND r."outcome" = 'done')) AS "free"
  FROM page LEFT JOIN LATERAL (
    SELECT routes."prefix", routes."consumers" FROM routes WHERE starts_with(page."eventType", routes."prefix")
    ORDER BY length(routes."prefix") DESC LIMIT 1
  ) route ON true
),
locked AS MATERIALIZED (
  SELECT e."id" FROM "OutboxEvent" e JOIN judged ON judged."id" = e."id" AND judged."free"
  WHERE e."status" = 'DONE' FOR UPDATE OF e SKIP LOCKED
),
gone AS (DELETE FROM "OutboxEvent" e USING locked WHERE e."id" = locked."id" RETURNING 1)
SELECT (SELECT count(*)::int FROM page) AS "looked", (SELECT count(*)::int FROM gone) AS "deleted",
  (SELECT COALESCE(jsonb_object_agg(h."prefix", h."n"), '{}') FROM (
     SELECT "prefix", count(*)::int AS "n" FROM judged WHERE NOT "free" GROUP BY "prefix") h) AS "held",
  (SELECT "processedAt"::text FROM page ORDER BY "processedAt" DESC, "id" DESC LIMIT 1) AS "lastProcessedAt",
  (SELECT "id" FROM page ORDER BY "processedAt" DESC, "id" DESC LIMIT 1) AS "lastId"`;

export async function purgeDoneEvents(
  db: Queryable,
  request: { readonly routes: readonly RouteRule[]; readonly retentionHours: number; readonly limit: number; readonly after: Cursor },
): Promise<PurgePage> {
  const routes = JSON.stringify(request.routes.map(({ prefix, consumers }) => ({ prefix, consumers })));
  const values = [routes, request.retentionHours, request.limit, request.after.processedAt, request.after.id];
  const { rows } = await db.query<Record<string, unknown>>(statement, values);
  const { looked, deleted, held, lastProcessedAt, lastId } = rowSchema.parse(rows[0]);
  const last = looked < request.limit || lastProcessedAt === null || lastId === null;
  return { deleted, held, next: last ? null : { processedAt: lastProcessedAt, id: lastId } };
}
