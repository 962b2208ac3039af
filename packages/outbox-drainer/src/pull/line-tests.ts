/**
 * Whether `alias` is the oldest event that holds its line. A correlated sub-select and not NOT EXISTS, which the planner may turn into a
 * join over the whole table. Index: "OutboxEvent_line_idx", one descent.
 */
export const isHead = (alias: string): string => `${alias}."position" = (
  SELECT o."position" FROM "OutboxEvent" o
  WHERE o."blocksLine" AND o."tenantId" = ${alias}."tenantId" AND o."recordKey" = ${alias}."recordKey" ORDER BY o."position" LIMIT 1)`;

/**
 * Whether no event of its line is in flight: one that was requeued behind a younger one is the head, but has to wait for it. Only a race
 * gets past this, and the unique index stops that. Index: "OutboxEvent_in_flight_key".
 */
export const lineIsFree = (alias: string): string => `(
  SELECT f."position" FROM "OutboxEvent" f
  WHERE f."tenantId" = ${alias}."tenantId" AND f."recordKey" = ${alias}."recordKey" AND f."status" = 'PROCESSING' AND f."claimMode" = 'pull'
  LIMIT 1) IS NULL`;

/** Whether `alias` waits and is due, by the database's clock. */
export const isDue = (alias: string): string => `${alias}."status" = 'PENDING' AND ${alias}."scheduledAt" <= (SELECT clock_timestamp())`;
