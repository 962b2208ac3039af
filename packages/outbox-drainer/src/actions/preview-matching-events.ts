import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { isOfOwedEpoch } from "../sql/owed-epoch.ts";
import { whereOfFilter, timeColumnOf, type EventFilter, type OutboxStatus } from "./event-filter.ts";

/** What a bulk would touch. `receipts` counts events whose consumer has finished them, and would stay suppressed. */
export interface MatchPreview {
  readonly total: number;
  readonly byType: ReadonlyArray<{ readonly status: OutboxStatus; readonly eventType: string; readonly events: number }>;
  readonly receipts: ReadonlyArray<{ readonly consumer: string; readonly events: number }>;
  /** Events of a record that have lost their place in its line: younger ones may have gone before them. */
  readonly mayFollowYounger: number;
}

/** Counts what a filter matches, the first `limit` events in the order in which a bulk takes them. Changes and locks nothing. */
export async function previewMatchingEvents(db: Queryable, filter: EventFilter, limit: number): Promise<MatchPreview> {
  const byType: Array<MatchPreview["byType"][number]> = [];
  const receipts = new Map<string, number>();
  const { column } = await recordKeyReady(db);
  let mayFollowYounger = 0;
  let left = limit;
  for (const status of filter.statuses) {
    if (left <= 0) break;
    for (const row of await countByType(db, filter, status, left)) byType.push({ status, ...row });
    for (const row of await countReceipts(db, filter, status, left))
      receipts.set(row.consumer, (receipts.get(row.consumer) ?? 0) + row.events);
    if (column) mayFollowYounger += await countOutOfLine(db, filter, status, left);
    left = limit - byType.reduce((sum, row) => sum + row.events, 0);
  }
  return {
    total: limit - left,
    byType,
    mayFollowYounger,
    receipts: [...receipts].map(([consumer, events]) => ({ consumer, events })).sort((a, b) => (a.consumer < b.consumer ? -1 : 1)),
  };
}

function picked(filter: EventFilter, status: OutboxStatus, limit: number, values: unknown[]): string {
  const where = whereOfFilter(filter, status, values);
  return `WITH picked AS MATERIALIZED (
    SELECT e."id", e."eventType", e."effectEpoch", e."replayConsumer" FROM "OutboxEvent" e WHERE ${where}
     ORDER BY e.${timeColumnOf(status)}, e."id" LIMIT $${values.push(limit)}
  )`;
}

async function countByType(
  db: Queryable,
  filter: EventFilter,
  status: OutboxStatus,
  limit: number,
): Promise<Array<{ eventType: string; events: number }>> {
  const values: unknown[] = [];
  const { rows } = await db.query<{ eventType: string; events: number }>(
    `${picked(filter, status, limit, values)}
     SELECT "eventType", count(*)::int AS "events" FROM picked GROUP BY "eventType" ORDER BY "eventType"`,
    values,
  );
  return rows;
}

async function countReceipts(
  db: Queryable,
  filter: EventFilter,
  status: OutboxStatus,
  limit: number,
): Promise<Array<{ consumer: string; events: number }>> {
  const values: unknown[] = [];
  const { rows } = await db.query<{ consumer: string; events: number }>(
    `${picked(filter, status, limit, values)}
     SELECT r."consumer", count(DISTINCT r."eventId")::int AS "events"
       FROM picked p JOIN "OutboxReceipt" r ON r."eventId" = p."id" AND r."outcome" = 'done' AND ${isOfOwedEpoch("r", `r."consumer"`, "p")}
      GROUP BY r."consumer"`,
    values,
  );
  return rows;
}

async function countOutOfLine(db: Queryable, filter: EventFilter, status: OutboxStatus, limit: number): Promise<number> {
  const values: unknown[] = [];
  const { rows } = await db.query<{ events: number }>(
    `${picked(filter, status, limit, values)}
     SELECT count(*)::int AS "events" FROM picked p JOIN "OutboxEvent" e ON e."id" = p."id"
      WHERE NOT e."blocksLine" AND e."recordKey" <> e."id"::text`,
    values,
  );
  return rows[0]?.events ?? 0;
}
