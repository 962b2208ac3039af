import { isOfOwedEpoch } from "./owed-epoch.ts";

export interface Cursor {
  readonly processedAt: string;
  readonly id: string;
}

/**
 * A page of DONE events that are older than an age, and for each whether retention may delete it: it has a `done` receipt of every consumer
 * its route expects, of a replay's own epoch where it is replayed. An event without a route is held: nobody knows what it still owes.
 *
 * Parameters: routes as JSON, age in hours, size of the page, and the cursor that the page begins behind. No lock. Order and index:
 * "OutboxEvent_retention_idx". The start of a statement, which goes on with a comma.
 */
export const JUDGED_DONE_EVENTS = `WITH routes AS (
  SELECT r."prefix", r."consumers" FROM jsonb_to_recordset($1::jsonb) AS r("prefix" text, "consumers" text[])
),
page AS MATERIALIZED (
  SELECT e."id", e."eventType", e."processedAt", e."effectEpoch", e."replayConsumer" FROM "OutboxEvent" e
  WHERE e."status" = 'DONE' AND e."processedAt" < (SELECT clock_timestamp()) - $2::float8 * interval '1 hour'
    AND (e."processedAt", e."id") > ($4::timestamptz, $5::uuid)
  ORDER BY e."processedAt", e."id" LIMIT $3
),
judged AS MATERIALIZED (
  SELECT page."id", COALESCE(route."prefix", '(no route)') AS "prefix",
    route."prefix" IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM unnest(route."consumers") AS c("consumer") WHERE NOT EXISTS (
        SELECT 1 FROM "OutboxReceipt" r WHERE r."eventId" = page."id" AND r."consumer" = c."consumer" AND r."outcome" = 'done'
          AND ${isOfOwedEpoch("r", `c."consumer"`, "page")})) AS "free"
  FROM page LEFT JOIN LATERAL (
    SELECT routes."prefix", routes."consumers" FROM routes WHERE starts_with(page."eventType", routes."prefix")
    ORDER BY length(routes."prefix") DESC LIMIT 1
  ) route ON true
)`;
