import type { JsonObject } from "@toolctrl/foundation/json";

/** The bytes that are signed and sent: the Standard Webhooks form, with the time the event was published. */
export function webhookBody(event: { type: string; createdAt: string; data: JsonObject }): Buffer {
  return Buffer.from(JSON.stringify({ type: event.type, timestamp: event.createdAt, data: event.data }), "utf8");
}
