import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { whereOfFilter, type EventFilter, type OutboxStatus } from "../actions/event-filter.ts";

const row = z.object({
  id: z.string(),
  at: z.date(),
  /** The exact time, as PostgreSQL writes it: with the id it tells one change from another. */
  exactly: z.string(),
  status: z.enum(["PENDING", "PROCESSING", "DONE", "FAILED", "CANCELLED"]),
  eventType: z.string(),
  tenantId: z.string(),
  attempts: z.number(),
  retries: z.number(),
  generation: z.number(),
  lastErrorCode: z.string().nullable(),
});

/** An event as its last change left it. */
export type EventChange = z.output<typeof row>;

/**
 * What says of a state that an event came into it since `$1`, so that its own index is read from there on, and not the table.
 *
 * PENDING: whatever has just been published, put off or requeued is due from now on or later; "OutboxEvent_due_idx". PROCESSING: every claim,
 * of which there are few; "OutboxEvent_expired_idx". DONE: "OutboxEvent_retention_idx". FAILED, CANCELLED: "OutboxEvent_dead_idx".
 */
const SINCE: Readonly<Record<OutboxStatus, string>> = {
  PENDING: `e."scheduledAt" > $1::timestamptz AND e."updatedAt" > $1::timestamptz`,
  PROCESSING: `e."lockedUntil" IS NOT NULL AND e."updatedAt" > $1::timestamptz`,
  DONE: `e."processedAt" > $1::timestamptz AND e."updatedAt" > $1::timestamptz`,
  FAILED: `e."updatedAt" > $1::timestamptz`,
  CANCELLED: `e."updatedAt" > $1::timestamptz`,
};

/** The events that match and have changed since a moment, at most the `limit` newest of each state, in the order of their changes. No lock. */
export async function listChanges(
  db: Queryable,
  request: { readonly filter: Omit<EventFilter, "from" | "to">; readonly since: Date; readonly limit: number },
): Promise<EventChange[]> {
  const { filter, since, limit } = request;
  if (filter.statuses.length === 0) return [];
  const values: unknown[] = [since, limit];
  const parts = filter.statuses.map(
    (status) =>
      `(SELECT e."id"::text AS "id", e."updatedAt" AS "at", e."updatedAt"::text AS "exactly", e."status"::text AS "status", e."eventType", e."tenantId",
          e."attempts", e."retries", e."generation", e."lastErrorCode"
         FROM "OutboxEvent" e WHERE ${whereOfFilter(filter, status, values)} AND ${SINCE[status]} ORDER BY e."updatedAt" DESC LIMIT $2)`,
  );
  const { rows } = await db.query(`${parts.join("\nUNION ALL\n")}\nORDER BY "at", "id"`, values);
  return z.array(row).parse(rows);
}
