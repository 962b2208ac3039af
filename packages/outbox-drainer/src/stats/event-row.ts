import { z } from "zod";
import { OUTBOX_STATUSES } from "../actions/event-filter.ts";

/** An event as operators see it, without its payload. `position` is decimal text. */
export const eventRow = z.object({
  id: z.string(),
  position: z.string(),
  tenantId: z.string(),
  eventType: z.string(),
  version: z.number(),
  dispatchKey: z.string().nullable(),
  status: z.enum(OUTBOX_STATUSES),
  attempts: z.number(),
  retries: z.number(),
  crashes: z.number(),
  scheduledAt: z.date(),
  lockedUntil: z.date().nullable(),
  claimMode: z.string().nullable(),
  blocksLine: z.boolean(),
  lastErrorCode: z.string().nullable(),
  lastError: z.string().nullable(),
  processedAt: z.date().nullable(),
  generation: z.number(),
  effectEpoch: z.number(),
  replayConsumer: z.string().nullable(),
  traceparent: z.string().nullable(),
  tracestate: z.string().nullable(),
  correlationId: z.string().nullable(),
  causationId: z.string().nullable(),
  depth: z.number(),
  createdAt: z.date(),
  updatedAt: z.date(),
});

/** The columns of {@link eventRow} out of `"OutboxEvent" e`. The fence stays out: nobody but its holder may use it. */
export const eventColumns = Object.keys(eventRow.shape)
  .map((name) => (["id", "position", "status"].includes(name) ? `e."${name}"::text AS "${name}"` : `e."${name}"`))
  .join(", ");
