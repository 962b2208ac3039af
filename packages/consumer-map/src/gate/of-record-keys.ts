import type { SchemaProblem } from "@toolctrl/db/schema";

const NAMES: ReadonlySet<string> = new Set([
  "column OutboxEvent.recordKey",
  "constraint OutboxEvent.OutboxEvent_recordKey_check",
  "index OutboxEvent.OutboxEvent_line_idx",
  "index OutboxEvent.OutboxEvent_in_flight_key",
]);

/** Whether a problem of the schema is what the record keys' own condition asks about, and asks each time: one of these is missing, or not valid. */
export function isOfRecordKeys({ name, said }: SchemaProblem): boolean {
  return NAMES.has(name) && (said.endsWith(" is missing") || said.endsWith(` (INVALID)"`));
}
