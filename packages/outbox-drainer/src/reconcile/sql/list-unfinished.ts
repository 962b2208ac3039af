import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule } from "@toolctrl/event-router/router";
import { z } from "zod";
import { isOfOwedEpoch } from "../../sql/owed-epoch.ts";
import type { Cursor } from "../../sql/purge-done-events.ts";

const row = z.object({
  id: z.string(),
  tenantId: z.string(),
  eventType: z.string(),
  generation: z.number(),
  processedAt: z.date(),
  missing: z.array(z.string()),
});

/** A handed-off event that some consumers of its route have neither finished nor given up on. */
export type UnfinishedEvent = z.output<typeof row>;

/** Which DONE events to look at: a page of all in order of hand-off, or some by id. */
export type UnfinishedSelection =
  | { readonly after: Cursor; readonly limit: number; readonly olderThanMs: number; readonly since: Date | null }
  | { readonly ids: readonly string[] };

/** `looked` 0 is the end; `next` is where the next page starts. */
export interface UnfinishedPage {
  readonly events: readonly UnfinishedEvent[];
  readonly looked: number;
  readonly next: Cursor | null;
}

/**
 * - No lock. Index and order of a page: "OutboxEvent_retention_idx"; of ids: the primary key; receipts: theirs.
 * - A dead receipt settles the generation it was written for: an older one says nothing about the present job.
 * - Events without a route are left to retention's report: nobody knows what they owe.
 */
const JUDGE = `
judged AS (
  SELECT page.*, ARRAY(
    SELECT c."consumer" FROM unnest(route."consumers") AS c("consumer") WHERE NOT EXISTS (
      SELECT 1 FROM "OutboxReceipt" r
       WHERE r."eventId" = page."id" AND r."consumer" = c."consumer"
         AND ${isOfOwedEpoch("r", `c."consumer"`, "page")}
         AND (r."outcome" = 'done' OR r."generation" = page."generation"))) AS "missing"
  FROM page JOIN LATERAL (
    SELECT routes."consumers" FROM routes WHERE starts_with(page."eventType", routes."prefix")
    ORDER BY length(routes."prefix") DESC LIMIT 1
  ) route ON true
)
SELECT (SELECT count(*)::int FROM page) AS "looked",
  (SELECT "processedAt"::text FROM page ORDER BY "processedAt" DESC, "id" DESC LIMIT 1) AS "lastProcessedAt",
  (SELECT "id"::text FROM page ORDER BY "processedAt" DESC, "id" DESC LIMIT 1) AS "lastId",
  (SELECT COALESCE(jsonb_agg(jsonb_build_object('id', "id", 'tenantId', "tenantId", 'eventType', "eventType", 'generation', "generation",
     'processedAt', to_char("processedAt" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'missing', to_jsonb("missing"))
     ORDER BY "processedAt", "id"), '[]') FROM judged WHERE cardinality("missing") > 0) AS "events"`;

const ROUTES = `routes AS (SELECT r."prefix", r."consumers" FROM jsonb_to_recordset($1::jsonb) AS r("prefix" text, "consumers" text[]))`;

const COLUMNS = `e."id", e."tenantId", e."eventType", e."generation", e."effectEpoch", e."replayConsumer", e."processedAt"`;

const PAGE = `WITH ${ROUTES},
page AS MATERIALIZED (
  SELECT ${COLUMNS} FROM "OutboxEvent" e
  WHERE e."status" = 'DONE' AND e."processedAt" < (SELECT clock_timestamp()) - $2::float8 * interval '1 millisecond'
    AND (e."processedAt", e."id") > ($4::timestamptz, $5::uuid) AND e."processedAt" >= COALESCE($6::timestamptz, '-infinity')
  ORDER BY e."processedAt", e."id" LIMIT $3
),${JUDGE}`;

const SOME = `WITH ${ROUTES},
page AS MATERIALIZED (SELECT ${COLUMNS} FROM "OutboxEvent" e WHERE e."id" = ANY($2::uuid[]) AND e."status" = 'DONE'),${JUDGE}`;

const answer = z.object({
  looked: z.number(),
  lastProcessedAt: z.string().nullable(),
  lastId: z.string().nullable(),
  events: z.array(row.extend({ processedAt: z.coerce.date() })),
});

export async function listUnfinished(db: Queryable, routes: readonly RouteRule[], selection: UnfinishedSelection): Promise<UnfinishedPage> {
  const owed = JSON.stringify(routes.map(({ prefix, consumers }) => ({ prefix, consumers })));
  const { rows } =
    "ids" in selection
      ? await db.query<Record<string, unknown>>(SOME, [owed, selection.ids])
      : await db.query<Record<string, unknown>>(PAGE, [
          owed,
          selection.olderThanMs,
          selection.limit,
          selection.after.processedAt,
          selection.after.id,
          selection.since,
        ]);
  const { looked, lastProcessedAt, lastId, events } = answer.parse(rows[0]);
  const next = lastProcessedAt === null || lastId === null ? null : { processedAt: lastProcessedAt, id: lastId };
  return { events, looked, next };
}
