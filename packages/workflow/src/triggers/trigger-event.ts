import type { JsonObject } from "@toolctrl/foundation/json";

/** Something that happened to a tenant, as `workflow.trigger.event` tells of it. */
export interface TriggerEvent {
  readonly eventId: string;
  readonly tenantId: string;
  readonly source: "row" | "form" | "event";
  /** The type of what happened: `row.created`, `form.submitted`, or an application event's own. */
  readonly eventType: string;
  readonly object?: string | undefined;
  readonly recordId?: string | undefined;
  readonly data: JsonObject;
  readonly depth: number;
  readonly correlationId: string | null;
}

/** What a run sees of it as `trigger`. */
export function inputOf({ source, eventType, object, recordId, data }: TriggerEvent): JsonObject {
  return { source, eventType, ...(object === undefined ? {} : { object }), ...(recordId === undefined ? {} : { recordId }), data };
}

/** What the live workflows that it may start are looked up by: for an event, its type and each prefix of it. */
export function lookupKeysOf({ source, eventType, object = "" }: Pick<TriggerEvent, "source" | "eventType" | "object">): string[] {
  if (source !== "event") return [object];
  const segments = eventType.split(".");
  return [eventType, ...segments.slice(0, -1).map((_, index) => `${segments.slice(0, index + 1).join(".")}.`)];
}
