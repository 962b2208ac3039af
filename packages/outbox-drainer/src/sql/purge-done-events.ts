import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule } from "@toolctrl/event-router/router";
import { z } from "zod";
import { JUDGED_DONE_EVENTS, type Cursor } from "./judge-done-events.ts";

export type { Cursor } from "./judge-done-events.ts";

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
${JUDGED_DONE_EVENTS},
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
