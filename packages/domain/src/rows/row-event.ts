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

/** `record.<table>.created`, `.updated` or `.deleted`, with the row as it was and as it is. */
export function rowEvent(
  change: { tenantId: string; table: string; kind: RowChangeKind; before?: RowSnapshot; after?: RowSnapshot; cascadeRootId?: string },
  context: RowEventContext = {},
): OutboxEventInput {
  const { tenantId, table, kind, before, after, cascadeRootId } = change;
  const recordId = (after ?? before)?.id ?? "";
  const payload: JsonObject = { object: table, recordId };
  if (cascadeRootId !== undefined && cascadeRootId !== recordId) payload["cascadeRootId"] = cascadeRootId;
  if (before !== undefined) payload["before"] = freeze(before);
  if (after !== undefined) payload["after"] = freeze(after);
  return { ...context, tenantId, type: `record.${table}.${kind}`, payload, recordKey: `${table}/${recordId}` };
}

// Field by field: what else a row knows is no part of its snapshot.
function freeze({ id, parentId, revision, data }: RowSnapshot): JsonObject {
  return { id, parentId, revision, data };
}
