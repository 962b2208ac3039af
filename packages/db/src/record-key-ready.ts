import type { QueryResultRow } from "pg";
import type { Queryable } from "./sql.ts";

/** How far the live table is on its way to `"recordKey"`. */
export interface RecordKeyReadiness {
  readonly column: boolean;
  /** Whether the constraint is there, without which an event may lack its key. */
  readonly constraint: boolean;
  /** Whether the constraint is validated, which says that every row has its key: the backfill is through. */
  readonly validated: boolean;
  /** Whether the indexes of lines are there and valid. An interrupted build leaves one that keeps no promise. */
  readonly indexes: boolean;
}

const READY = `SELECT
  EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = events AND attname = 'recordKey' AND attnum > 0 AND NOT attisdropped) AS "column",
  EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = events AND conname = 'OutboxEvent_recordKey_check') AS "constraint",
  EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = events AND conname = 'OutboxEvent_recordKey_check' AND convalidated) AS "validated",
  (SELECT count(*) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = events AND i.indisvalid
    AND x.relname IN ('OutboxEvent_line_idx', 'OutboxEvent_in_flight_key')) = 2 AS "indexes"
FROM (SELECT to_regclass('"OutboxEvent"') AS events) AS t`;

/** Asks the live catalogue; nothing is cached. A database without the table has nothing of it. */
export async function recordKeyReady(db: Queryable): Promise<RecordKeyReadiness> {
  const { rows } = await db.query<RecordKeyReadiness & QueryResultRow>(READY);
  const [row] = rows;
  return {
    column: row?.column === true,
    constraint: row?.constraint === true,
    validated: row?.validated === true,
    indexes: row?.indexes === true,
  };
}
