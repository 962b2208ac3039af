import type { OutboxEventInput } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";

/** A row as an event of it carries it, frozen when it was published. It knows no position: that is drawn when the event is inserted. */
export interface RowSnapshot {
  readonly id: string;
  readonly parentId: string | null;
  /** 1 for a new row, and one more with each update. */
  readonly revision: number;
  readonly data: JsonObject;
}

export interface Row extends RowSnapshot {
  readonly tenantId: string;
  readonly table: string;
  /** How many rows stand above it. */
  readonly level: number;
}

export interface RowKey {
  readonly tenantId: string;
  readonly table: string;
  readonly id: string;
}

/** Where the change comes from, for the event that tells of it. */
export type RowEventContext = Pick<OutboxEventInput, "correlationId" | "causationId" | "depth" | "traceparent" | "tracestate">;

/** A written row, and the event that tells of it. */
export interface RowChange {
  readonly row: Row;
  readonly eventId: string;
}

export const ROW_CHANGES = ["created", "updated", "deleted"] as const;
export type RowChangeKind = (typeof ROW_CHANGES)[number];
