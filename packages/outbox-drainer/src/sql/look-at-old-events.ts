import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule } from "@toolctrl/event-router/router";
import { z } from "zod";
import { JUDGED_DONE_EVENTS } from "./judge-done-events.ts";
import { START_OF_TIME } from "./purge-done-events.ts";

const rowSchema = z.object({
  looked: z.number(),
  free: z.number(),
  oldestFreeAt: z.date().nullable(),
  held: z.record(z.string(), z.number()),
});

/** `looked` events of that age, the oldest: how many of them retention may delete, and how many it keeps, by the prefix of their route. */
export type OldEvents = z.output<typeof rowSchema>;

/** What retention would do with the oldest DONE events of an age, judged as it judges. Deletes nothing, locks nothing. */
const statement = `
${JUDGED_DONE_EVENTS}
SELECT (SELECT count(*)::int FROM page) AS "looked", (SELECT count(*)::int FROM judged WHERE "free") AS "free",
  (SELECT min(page."processedAt") FROM page JOIN judged ON judged."id" = page."id" WHERE judged."free") AS "oldestFreeAt",
  (SELECT COALESCE(jsonb_object_agg(h."prefix", h."n"), '{}') FROM (
     SELECT "prefix", count(*)::int AS "n" FROM judged WHERE NOT "free" GROUP BY "prefix") h) AS "held"`;

export async function lookAtOldEvents(
  db: Queryable,
  request: { readonly routes: readonly RouteRule[]; readonly olderThanHours: number; readonly limit: number },
): Promise<OldEvents> {
  const routes = JSON.stringify(request.routes.map(({ prefix, consumers }) => ({ prefix, consumers })));
  const values = [routes, request.olderThanHours, request.limit, START_OF_TIME.processedAt, START_OF_TIME.id];
  const { rows } = await db.query<Record<string, unknown>>(statement, values);
  return rowSchema.parse(rows[0]);
}
