import { z } from "zod";
import type { JsonValue } from "./json.ts";

// A job's data come out of JSON.parse: walking through the payload once more would find nothing, and costs more than all other fields.
const jsonValue = z.custom<JsonValue>((value) => value !== undefined);

/** As deep as an event may say it is. */
export const MAX_DEPTH = 1000;

/** The header in which a call tells what depth is that of the events it leads to, so that a loop through somebody's API is seen as one. */
export const DEPTH_HEADER = "toolctrl-depth";

/**
 * What a BullMQ job of an outbox queue carries. `payload` is absent when it travels by reference: the consumer then reads the row.
 *
 * `position` is the decimal text of a bigint. Times are ISO 8601 in UTC.
 */
export const jobEnvelopeSchema = z.strictObject({
  v: z.literal(1),
  outboxEventId: z.string().min(1),
  tenantId: z.string().min(1),
  type: z.string().min(1),
  version: z.number().int().positive(),
  position: z.string().regex(/^\d+$/),
  generation: z.number().int().nonnegative(),
  effectEpoch: z.number().int().nonnegative(),
  /** On a deliberate replay, the one consumer that repeats its effect. */
  replayConsumer: z.string().optional(),
  /** Of an event that has several jobs for one consumer: which of them this is. Each has a claim and a receipt of its own. */
  target: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/)
    .optional(),
  payload: jsonValue.optional(),
  correlationId: z.string().nullable(),
  causationId: z.string().nullable(),
  depth: z.number().int().nonnegative(),
  traceparent: z.string().nullable(),
  tracestate: z.string().nullable(),
  createdAt: z.iso.datetime({ offset: true }),
});

export type JobEnvelope = z.infer<typeof jobEnvelopeSchema>;

/** Whose events probes are. No product gives a tenant this id. */
export const PROBE_TENANT = "toolctrl-probe";

const PROBE_ENDING = "outbox.probe";

/** The type of the probe of a route, by the route's prefix. */
export function probeTypeOf(prefix: string): string {
  return `${prefix}${PROBE_ENDING}`;
}

/**
 * Whether an event is a probe: it takes its route's whole way, and has no effect at its end. It needs both, so that no event of a tenant's is taken
 * for one because of its name.
 */
export function isProbe({ tenantId, type }: Pick<JobEnvelope, "tenantId" | "type">): boolean {
  return tenantId === PROBE_TENANT && type.endsWith(`.${PROBE_ENDING}`);
}
