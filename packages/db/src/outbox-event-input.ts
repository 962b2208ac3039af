import type { PayloadOf } from "@toolctrl/foundation/events";

/** What a publisher gives. Texts are 1 to 200 characters, keys 1 to 255. */
export interface OutboxEventInput<T extends string = string> {
  readonly tenantId: string;
  /** Lowercase, dot-separated `<domain>.<entity>.<action>`. */
  readonly type: T;
  /** Strict JSON of at most 1 MiB; for a type of the catalogue it must fit the schema. */
  readonly payload: PayloadOf<T>;
  /** At most one event per tenant and dispatch key, for as long as the first is kept. */
  readonly dispatchKey?: string | undefined;
  /**
   * The record whose line the event stands in, `Object + "/" + recordId`. Needed only where the payload has no `object` and `recordId`; where it
   * has, another key is refused. Lock or write the record first, then publish.
   */
  readonly recordKey?: string | undefined;
  /** Earliest hand-off. A time in the past means now; an event of a record takes no time in the future. */
  readonly scheduledAt?: Date | undefined;
  readonly correlationId?: string | undefined;
  /** The id of the event that led to this one. */
  readonly causationId?: string | undefined;
  /** How many events led to this one. */
  readonly depth?: number | undefined;
  /** W3C trace context; a malformed one is left out, as that standard demands. Default: that of the active OpenTelemetry span. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** What leads to an event. */
export type EventCause = Pick<OutboxEventInput, "causationId" | "correlationId" | "depth">;

export interface PublishedEvent {
  /** The event's id; for a duplicate, that of the event which is there already. */
  readonly id: string;
  /** Whether an event with this dispatch key was there already. Nothing was written then. */
  readonly duplicate: boolean;
}
