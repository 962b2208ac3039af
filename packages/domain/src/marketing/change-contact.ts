import type { MarketingContact } from "./contact.ts";
import type { ContactEvent } from "./contact-event.ts";

/** What an event can change of a contact. */
export type ContactState = Pick<
  MarketingContact,
  "email" | "name" | "attributes" | "appliedPosition" | "consent" | "consentAt" | "consentSource" | "consentPosition"
>;

/**
 * A contact as it is after an event; null where the event changes nothing.
 *
 * The person and their consent are two registers, each of the event with the highest position that said something about it. So the events of a
 * contact lead to one state in whatever order and however often they come, and an older consent never returns after a younger withdrawal.
 */
export function changeContact(contact: ContactState, event: ContactEvent): ContactState | null {
  const { position, consent } = event;
  const person = event.kind === "upsert" && isYounger(position, contact.appliedPosition);
  const choice = consent !== null && isYounger(position, contact.consentPosition);
  if (!person && !choice) return null;
  return {
    ...contact,
    ...(person ? { email: event.email, name: event.name, attributes: event.attributes, appliedPosition: position } : {}),
    ...(choice ? { consent: consent.consent, consentAt: consent.at, consentSource: consent.source, consentPosition: position } : {}),
  };
}

function isYounger(position: bigint, applied: bigint | null): boolean {
  return applied === null || position > applied;
}
