import { CodedError } from "@toolctrl/foundation/errors";
import { auditEntrySchema } from "@toolctrl/foundation/events";
import type { JsonValue } from "@toolctrl/foundation/json";
import { z } from "zod";

export type AuditEntry = z.output<typeof auditEntrySchema>;

/**
 * The audit entry of an event: its payload where that is an entry, else the event itself as an entry, so that no `audit.*` event
 * goes unrecorded.
 * @throws CodedError `RECEIVER.PAYLOAD` when an `audit.entry.record` event does not hold an entry.
 */
export function auditEntryFor(event: { eventId: string; type: string; payload: JsonValue }): AuditEntry {
  const parsed = auditEntrySchema.safeParse(event.payload);
  if (parsed.success) return parsed.data;
  if (event.type === "audit.entry.record") {
    throw new CodedError(
      "RECEIVER.PAYLOAD",
      `expected the payload of ${event.type} to be an audit entry:\n${z.prettifyError(parsed.error)}`,
      {
        facts: { eventId: event.eventId, paths: parsed.error.issues.map((issue) => issue.path.join(".")) },
      },
    );
  }
  return { actor: "unknown", action: event.type, object: "event", recordId: event.eventId, data: event.payload };
}
