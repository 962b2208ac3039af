/** After-save effects that set a field or a lookup on a row from the event's frozen snapshot. */
export { createFieldSetEffect } from "./field-sets/create-field-set-effect.ts";
export type { FieldSet, SnapshotPath } from "./field-sets/field-set.ts";
export { ROW_FIELD_SETS } from "./field-sets/row-field-sets.ts";
