import type { EffectEvent } from "@toolctrl/db/after-save-effect";
import type { JsonValue } from "@toolctrl/foundation/json";
import { rowPayloadSchema } from "../rows/row-event.ts";
import type { RowChangeKind } from "../rows/row.ts";
import type { FieldSet, SnapshotPath } from "./field-set.ts";

export interface FieldAssignment {
  readonly rowId: string;
  readonly field: string;
  readonly value: JsonValue;
  readonly lookupId: string | null;
  readonly kind: FieldSet["kind"];
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ROW_EVENT = /^record\.([^.]+)\.(created|updated|deleted)$/;

/** What an event of a row assigns, by its snapshot alone. An event that is none of a row's assigns nothing. */
export function assignFields(sets: readonly FieldSet[], event: Pick<EffectEvent, "type" | "payload">): FieldAssignment[] {
  const [, table, change] = ROW_EVENT.exec(event.type) ?? [];
  if (table === undefined) return [];
  const { data: payload } = rowPayloadSchema.safeParse(event.payload);
  const snapshot = payload?.after ?? payload?.before;
  if (snapshot === undefined) return [];
  // Of two sets that name one field of one row, the later counts.
  const assignments = new Map<string, FieldAssignment>();
  for (const set of sets) {
    if ((set.table !== null && set.table !== table) || !set.changes.includes(change as RowChangeKind)) continue;
    const rowId = idAt(snapshot, set.on);
    if (rowId === null) continue;
    const { field, kind } = set;
    const value = kind === "value" ? valueAt(snapshot, set.from) : null;
    const lookupId = kind === "lookup" ? idAt(snapshot, set.from) : null;
    assignments.set(`${rowId}/${field}`, { rowId, field, value, lookupId, kind });
  }
  return [...assignments.values()];
}

function idAt(snapshot: unknown, path: SnapshotPath): string | null {
  const value = valueAt(snapshot, path);
  return typeof value === "string" && UUID.test(value) ? value.toLowerCase() : null;
}

function valueAt(snapshot: unknown, path: SnapshotPath): JsonValue {
  let value = snapshot;
  for (const member of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, member)) return null;
    value = (value as Record<string, unknown>)[member];
  }
  return value as JsonValue;
}
