import type { RowChangeKind } from "../rows/row.ts";

/** Where a value lies in a snapshot, member by member: `["data", "name"]`, `["parentId"]`. */
export type SnapshotPath = readonly string[];

/**
 * "After this change, set that field on that row to what the snapshot says."
 *
 * Everything is read from the event's frozen snapshot (`after`, or `before` of a deleted row), so the outcome depends on the event alone: a late
 * or second delivery sets the same value. That is why it is a path and no function: nothing else can be read.
 */
export interface FieldSet {
  /** Rows of which table; null for all. */
  readonly table: string | null;
  readonly changes: readonly RowChangeKind[];
  /** The row that gets the field: `["id"]` the changed row itself, `["parentId"]` its parent, or any other member that names a row. */
  readonly on: SnapshotPath;
  readonly field: string;
  /** A `value` is stored as it is, `null` when the snapshot lacks it. A `lookup` is the id of another row of the tenant. */
  readonly kind: "value" | "lookup";
  readonly from: SnapshotPath;
}
