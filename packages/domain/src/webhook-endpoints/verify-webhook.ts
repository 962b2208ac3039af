import { timingSafeEqual } from "node:crypto";
import { hmacOf } from "./sign-webhook.ts";
import { keyOfWebhookSecret } from "./webhook-secret.ts";

export interface WebhookToVerify {
  /** `whsec_…` of the endpoint. */
  readonly secret: string;
  /** As received: an object of names to values (any case), or a fetch `Headers`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };
  /** The bytes as received, before any parsing. */
  readonly body: string | Uint8Array;
  /** How far its timestamp may be from now, either way. Default 300. */
  readonly toleranceSeconds?: number;
}

/**
 * Says whether a delivery was signed with this secret, lately. Never throws: whatever is missing, short, stale or malformed is `false`.
 * For receivers.
 */
export function verifyWebhook(webhook: WebhookToVerify): boolean {
  try {
    const { secret, headers, body, toleranceSeconds = 300 } = webhook;
    const key = keyOfWebhookSecret(secret);
    const id = headerOf(headers, "webhook-id");
    const timestamp = headerOf(headers, "webhook-timestamp");
    const signatures = headerOf(headers, "webhook-signature");
    if (key === null || id === "" || signatures === "" || !/^\d{1,12}$/.test(timestamp)) return false;
    if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSeconds)) return false;
    const expected = hmacOf(key, id, Number(timestamp), typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body));
    return signatures.split(" ").some((signature) => matches(signature, expected));
  } catch {
    // The contract is an answer, also for values that break the types: a receiver's 500 would make the sender repeat a forged delivery.
    return false;
  }
}

function matches(signature: string, expected: Buffer): boolean {
  const encoded = /^v1,([A-Za-z0-9+/]+={0,2})$/.exec(signature)?.[1];
  if (encoded === undefined) return false;
  const given = Buffer.from(encoded, "base64");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function headerOf(headers: WebhookToVerify["headers"], name: string): string {
  if (typeof headers.get === "function") return headers.get(name) ?? "";
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== name) continue;
    return (Array.isArray(value) ? value[0] : typeof value === "string" ? value : undefined) ?? "";
  }
  return "";
}
