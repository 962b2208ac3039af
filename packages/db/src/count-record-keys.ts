import type { QueryResultRow } from "pg";
import type { Queryable } from "./sql.ts";

/** What a backfill would meet. */
export interface RecordKeyCounts {
  readonly events: number;
  /** Events without a key. */
  readonly missing: number;
  /** Of these the ones whose payload names no record: each becomes a line of its own, under its id. */
  readonly withoutRecord: number;
}

/** Counts the whole table, once through: for a person who waits, not for a scraper. The table must have the column. */
export async function countRecordKeys(db: Queryable): Promise<RecordKeyCounts> {
  const { rows } = await db.query<RecordKeyCounts & QueryResultRow>(
    `SELECT count(*)::int AS "events", count(*) FILTER (WHERE "recordKey" IS NULL)::int AS "missing",
       count(*) FILTER (WHERE "recordKey" IS NULL AND "outboxRecordKey"("payload", "id") = "id"::text)::int AS "withoutRecord"
     FROM "OutboxEvent"`,
  );
  const [row] = rows;
  return { events: row?.events ?? 0, missing: row?.missing ?? 0, withoutRecord: row?.withoutRecord ?? 0 };
}
