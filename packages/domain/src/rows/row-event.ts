import type { OutboxEventInput } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { z } from "zod";
import type { RowChangeKind, RowEventContext, RowSnapshot } from "./row.ts";

const snapshotSchema = z.object({
  id: z.uuid(),
  parentId: z.uuid().nullable(),
  revision: z.number(),
  data: z.record(z.string(), z.json()),
});

/** What an event of a row carries. `after` is missing when the row was deleted, `before` when it is new. */
export const rowPayloadSchema = z.object({
  object: z.string(),
  recordId: z.uuid(),
  /** The row whose deletion took this one with it. */
  cascadeRootId: z.uuid().optional(),
  before: snapshotSchema.optional(),
  after: snapshotSchema.optional(),
});

/** A change of a row, as its events tell of it. */
export interface PublishedChange {
  readonly tenantId: string;
  readonly table: string;
  readonly kind: RowChangeKind;
  readonly before?: RowSnapshot;
  readonly after?: RowSnapshot;
  readonly cascadeRootId?: string;
}

/** `record.<table>.created`, `.updated` or `.deleted`, with the row as it was and as it is. */
export function rowEvent(change: PublishedChange, context: RowEventContext = {}): OutboxEventInput {
  const { tenantId, table, kind, cascadeRootId } = change;
  const recordId = recordIdOf(change);
  const cause = cascadeRootId === undefined || cascadeRootId === recordId ? {} : { cascadeRootId };
  const payload = { object: table, recordId, ...cause, ...snapshotsOf(change) };
  return { ...context, tenantId, type: `record.${table}.${kind}`, payload, recordKey: `${table}/${recordId}` };
}

export function recordIdOf({ before, after }: PublishedChange): string {
  return (after ?? before)?.id ?? "";
}

/** The row as it was and as it is, frozen. */
export function snapshotsOf({ before, after }: PublishedChange): JsonObject {
  return { ...(before === undefined ? {} : { before: freeze(before) }), ...(after === undefined ? {} : { after: freeze(after) }) };
}

// Field by field: what else a row knows is no part of its snapshot.
function freeze({ id, parentId, revision, data }: RowSnapshot): JsonObject {
  return { id, parentId, revision, data };
}
