import type { MarketingContact, ProviderStatus } from "./contact.ts";

export type CallDecision =
  | { readonly kind: "call"; readonly status: ProviderStatus }
  /** Another call about this contact may still be running. */
  | { readonly kind: "later"; readonly waitMs: number }
  /** Another event owes it now, or will. */
  | { readonly kind: "overtaken" }
  /** The provider has never heard of this person, and has no need to. */
  | { readonly kind: "nothing" };

/** A waiting call looks again so often, ms: most calls are over long before their deadline. */
const LOOK_AGAIN_MS = 500;

/** Only a yes is a yes, and a suppression is above it. */
export function providerStatusOf(contact: Pick<MarketingContact, "consent">, suppressed: boolean): ProviderStatus {
  return contact.consent === "granted" && !suppressed ? "subscribed" : "unsubscribed";
}

/**
 * Whether an event calls the provider now, from the contact as it is under its lock.
 *
 * - Only the event that owes the contact calls, so the provider is told the newest state or nothing.
 * - One call at a time: of two that run at once the older could arrive last.
 * - A call is repeated as it was or not at all: where a suppression came or went since, its own event tells the provider.
 * - The provider hears nothing of a person who never said anything; a no is told, also to one that has never heard of them.
 */
export function decideCall(
  contact: MarketingContact,
  { eventId, intentId, suppressed }: { readonly eventId: string; readonly intentId: string; readonly suppressed: boolean },
): CallDecision {
  if (contact.owedBy !== eventId) return { kind: "overtaken" };
  const status = providerStatusOf(contact, suppressed);
  if (contact.callIntentId === intentId) return status === contact.toldStatus ? { kind: "call", status } : { kind: "overtaken" };
  if (contact.callMs > 0) return { kind: "later", waitMs: Math.min(contact.callMs, LOOK_AGAIN_MS) };
  if (status === "unsubscribed" && contact.consent !== "denied" && contact.toldStatus === null) return { kind: "nothing" };
  return { kind: "call", status };
}
