import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { whereOfFilter, type EventFilter } from "../actions/event-filter.ts";
import { eventColumns, eventRow } from "./event-row.ts";

export type EventListing = z.output<typeof eventRow>;

/** The newest events that match, newest first, without payloads. Ids are in the order of publishing, so this walks the primary key. */
export async function listEvents(db: Queryable, filter: EventFilter, limit: number): Promise<EventListing[]> {
  if (filter.statuses.length === 0) return [];
  const values: unknown[] = [];
  const where = filter.statuses.map((status) => `(${whereOfFilter(filter, status, values)})`).join(" OR ");
  const { rows } = await db.query(
    `SELECT ${eventColumns} FROM "OutboxEvent" e WHERE ${where} ORDER BY e."id" DESC LIMIT $${values.push(limit)}`,
    values,
  );
  return z.array(eventRow).parse(rows);
}
