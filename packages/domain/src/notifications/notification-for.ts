import { CodedError } from "@toolctrl/foundation/errors";
import { notificationMessageSchema } from "@toolctrl/foundation/events";
import type { JsonValue } from "@toolctrl/foundation/json";
import { z } from "zod";

export type NotificationMessage = z.output<typeof notificationMessageSchema>;

/**
 * What to tell people about an event: the payload where it is a notification, or its member `notification`; else a title made
 * from the event type, for everybody of the tenant.
 * @throws CodedError `RECEIVER.PAYLOAD` when an explicit notification does not fit its schema.
 */
export function notificationFor(event: { eventId: string; type: string; payload: JsonValue }): NotificationMessage {
  const whole = notificationMessageSchema.safeParse(event.payload);
  if (whole.success) return whole.data;
  if (event.type === "notification.message.create") throw unusable(event, whole.error);
  const explicit = memberOf(event.payload, "notification");
  if (explicit === undefined) return { recipientId: null, title: titleOfEventType(event.type), body: "" };
  const member = notificationMessageSchema.safeParse(explicit);
  if (!member.success) throw unusable(event, member.error);
  return member.data;
}

/** `tenant.subscription.past-due` → `Tenant subscription past due`. */
export function titleOfEventType(type: string): string {
  const words = type.replaceAll(/[.-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function memberOf(payload: JsonValue, name: string): JsonValue | undefined {
  if (payload === null || typeof payload !== "object" || Array.isArray(payload) || !Object.hasOwn(payload, name)) return undefined;
  return payload[name];
}

function unusable(event: { eventId: string; type: string }, error: z.ZodError): CodedError {
  return new CodedError("RECEIVER.PAYLOAD", `expected ${event.type} to hold a notification:\n${z.prettifyError(error)}`, {
    facts: { eventId: event.eventId, paths: error.issues.map((issue) => issue.path.join(".")) },
  });
}
