import type { JsonObject } from "@toolctrl/foundation/json";
import type { RowEventContext } from "../rows/row.ts";
import type { EventContext } from "./event-context.ts";

/** Which kind of a workflow's trigger an event is for. */
export type ApplicationEventSource = "row" | "form" | "event";

/** What an event is about. */
export interface ApplicationEventSubject {
  readonly tenantId: string;
  /** The kind of record: a row's table, a form's id, or a product's own name. */
  readonly object: string;
  readonly recordId: string;
}

/** What happened, as its publisher tells it. */
export interface NewApplicationEvent extends ApplicationEventSubject {
  /** `row.created`, `form.submitted`, or a product's own event type. */
  readonly type: string;
  /** Strict JSON. With what goes around it, it must fit an event: 1 MiB and 64 levels. */
  readonly data: JsonObject;
  readonly source: ApplicationEventSource;
  /** Where it comes from, for the events that tell of it. */
  readonly event?: RowEventContext | undefined;
  /**
   * What the tenant's webhook endpoints get, for a type whose call-out has a schema of its own; null where they are called by somebody
   * else. Without it: `{ eventId, record: { object, id }, data }`.
   */
  readonly webhook?: JsonObject | null | undefined;
}

/** What happened, as it is kept. */
export interface ApplicationEvent extends ApplicationEventSubject {
  /** Younger events have greater ids. */
  readonly id: string;
  readonly type: string;
  /** Whether a request or a workflow made it happen. */
  readonly source: EventContext["kind"];
  /** Who sent the request; of a workflow the id of its run. */
  readonly actor: string | null;
  readonly data: JsonObject;
  readonly createdAt: Date;
}
