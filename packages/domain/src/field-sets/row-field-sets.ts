import type { FieldSet } from "./field-set.ts";

const SAVED = ["created", "updated"] as const;

/** What the product captures after a row is saved: its label for lists, and on its parent the child that was saved last. */
export const ROW_FIELD_SETS: readonly FieldSet[] = [
  { table: null, changes: SAVED, on: ["id"], field: "label", kind: "value", from: ["data", "name"] },
  { table: null, changes: SAVED, on: ["parentId"], field: "latestChild", kind: "lookup", from: ["id"] },
  { table: null, changes: SAVED, on: ["parentId"], field: "latestChildLabel", kind: "value", from: ["data", "name"] },
];
