import type { JsonValue } from "@toolctrl/foundation/json";
import { z } from "zod";

const rowSchema = z.object({
  id: z.string(),
  lockToken: z.string(),
  position: z.string(),
  tenantId: z.string(),
  /** The line it stands in; null on a table that has no such column yet. */
  recordKey: z.string().nullable(),
  eventType: z.string(),
  version: z.number(),
  payload: z.string().nullable(),
  inline: z.boolean(),
  attempts: z.number(),
  retries: z.number(),
  crashes: z.number(),
  generation: z.number(),
  effectEpoch: z.number(),
  replayConsumer: z.string().nullable(),
  traceparent: z.string().nullable(),
  tracestate: z.string().nullable(),
  correlationId: z.string().nullable(),
  causationId: z.string().nullable(),
  depth: z.number(),
  createdAt: z.iso.datetime(),
});

type ClaimedRow = z.infer<typeof rowSchema>;

/**
 * A claimed event as the hand-off needs it. `payload` is null when it travels by reference (`inline` false). `position` is decimal text,
 * `createdAt` ISO 8601 in UTC.
 */
export interface ClaimedEvent extends Omit<ClaimedRow, "payload"> {
  readonly payload: JsonValue;
}

/**
 * What an UPDATE of `"OutboxEvent" e` returns of a claimed event, for {@link claimedEventColumns} to read. `keyed` says whether the live
 * table has "recordKey".
 */
export const claimedColumns = (keyed: boolean): string => `
  ${keyed ? 'e."recordKey"' : 'NULL::text AS "recordKey"'}, e."id", e."lockToken", e."position", e."tenantId", e."eventType", e."version", e."payload", e."attempts", e."retries", e."crashes",
  e."generation", e."effectEpoch", e."replayConsumer", e."traceparent", e."tracestate", e."correlationId", e."causationId", e."depth", e."createdAt"`;

/** The payload as text, made once: it is measured and sent. OFFSET 0 keeps the planner from making it at each place. */
export const CLAIMED_BODY = `LATERAL (SELECT claimed."payload"::text AS "json" OFFSET 0) body`;

/** The columns of a {@link ClaimedEvent} out of `claimed` and `body`; $inlineBytes is bound by the statement that uses it. */
export const claimedEventColumns = (inlineBytes: string): string => `
  claimed."id", claimed."recordKey", claimed."lockToken", claimed."position"::text AS "position", claimed."tenantId", claimed."eventType", claimed."version",
  CASE WHEN octet_length(body."json") <= ${inlineBytes} THEN body."json" END AS "payload", octet_length(body."json") <= ${inlineBytes} AS "inline",
  claimed."attempts", claimed."retries", claimed."crashes", claimed."generation", claimed."effectEpoch", claimed."replayConsumer",
  claimed."traceparent", claimed."tracestate", claimed."correlationId", claimed."causationId", claimed."depth",
  to_char(claimed."createdAt" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt"`;

/**
 * Reads claimed rows. The first one is checked for all: their types are those of the statement's columns, and checking each row would
 * cost more than reading it.
 */
export function claimedEventsOf(rows: readonly Record<string, unknown>[]): ClaimedEvent[] {
  if (rows.length > 0) rowSchema.parse(rows[0]);
  return rows.map((row) => {
    const { payload } = row;
    return Object.assign(row as ClaimedRow, { payload: typeof payload === "string" ? (JSON.parse(payload) as JsonValue) : null });
  });
}
