import type { Queryable } from "@toolctrl/db/sql";
import { timeColumnOf, whereOfFilter, type EventFilter, type OutboxStatus } from "./event-filter.ts";

/** Where a walk over matching events stands: which state it is in, and the last event it gave. */
export interface PickCursor {
  readonly status: OutboxStatus;
  /** The exact time of the last event, as PostgreSQL writes it; null at the start of a state. */
  readonly at: string | null;
  readonly id: string | null;
}

/**
 * The ids of the next matching events, state by state, oldest first, at most `limit`. `cursor` null in the answer is the end.
 * Indexes: `OutboxEvent_retention_idx` (DONE), `OutboxEvent_dead_idx` (FAILED, CANCELLED). No lock: the action tests states itself.
 */
export async function pickMatchingEvents(
  db: Queryable,
  filter: EventFilter,
  cursor: PickCursor | null,
  limit: number,
): Promise<{ ids: string[]; cursor: PickCursor | null }> {
  const first = filter.statuses[0];
  const start = cursor ?? (first === undefined ? null : { status: first, at: null, id: null });
  for (let at = start; at !== null; at = nextState(filter, at.status)) {
    const rows = await pickOfState(db, filter, at, limit);
    const last = rows.at(-1);
    if (last !== undefined) return { ids: rows.map((row) => row.id), cursor: { status: at.status, at: last.at, id: last.id } };
  }
  return { ids: [], cursor: null };
}

function nextState(filter: EventFilter, status: OutboxStatus): PickCursor | null {
  const next = filter.statuses[filter.statuses.indexOf(status) + 1];
  return next === undefined ? null : { status: next, at: null, id: null };
}

async function pickOfState(
  db: Queryable,
  filter: EventFilter,
  cursor: PickCursor,
  limit: number,
): Promise<Array<{ id: string; at: string }>> {
  const values: unknown[] = [];
  const where = whereOfFilter(filter, cursor.status, values);
  const column = timeColumnOf(cursor.status);
  const after =
    cursor.at === null ? "" : `AND (e.${column}, e."id") > ($${values.push(cursor.at)}::timestamptz, $${values.push(cursor.id)}::uuid)`;
  const { rows } = await db.query<{ id: string; at: string }>(
    `SELECT e."id"::text AS "id", e.${column}::text AS "at" FROM "OutboxEvent" e WHERE ${where} ${after}
      ORDER BY e.${column}, e."id" LIMIT $${values.push(limit)}`,
    values,
  );
  return rows;
}
