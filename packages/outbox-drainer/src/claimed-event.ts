import type { JsonValue } from "@toolctrl/foundation/json";
import { z } from "zod";

/** A claimed event as the hand-off needs it. `payload` is null when it travels by reference (`inline` false). `position` is decimal text. */
export const claimedEventSchema = z.object({
  id: z.string(),
  lockToken: z.string(),
  position: z.string(),
  tenantId: z.string(),
  /** The line it stands in; null on a table that has no such column yet. */
  recordKey: z.string().nullable(),
  eventType: z.string(),
  version: z.number(),
  // jsonb is JSON already: looking through it again would cost more than the rest of the hand-off.
  payload: z.custom<JsonValue>(),
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
  createdAt: z.date(),
});

export type ClaimedEvent = z.infer<typeof claimedEventSchema>;

/**
 * The columns of {@link ClaimedEvent} out of `"OutboxEvent" e`; $inlineBytes is bound by the statement that uses it. `keyed` says whether
 * the live table has "recordKey".
 */
export const claimedEventColumns = (inlineBytes: string, keyed: boolean): string => `
  e."id", e."lockToken", e."position"::text AS "position", e."tenantId", e."eventType", e."version",
  ${keyed ? 'e."recordKey"' : 'NULL::text AS "recordKey"'},
  CASE WHEN octet_length(e."payload"::text) <= ${inlineBytes} THEN e."payload" END AS "payload",
  octet_length(e."payload"::text) <= ${inlineBytes} AS "inline",
  e."attempts", e."retries", e."crashes", e."generation", e."effectEpoch", e."replayConsumer",
  e."traceparent", e."tracestate", e."correlationId", e."causationId", e."depth", e."createdAt"`;
