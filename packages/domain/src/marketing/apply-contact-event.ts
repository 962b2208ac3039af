import type { Queryable } from "@toolctrl/db/sql";
import { changeContact, type ContactState } from "./change-contact.ts";
import type { MarketingContact } from "./contact.ts";
import type { ContactEvent } from "./contact-event.ts";

/**
 * Applies an event to its contact, which the caller has locked, and says whether the event owes the provider the contact as it is now.
 *
 * Whoever changes a contact takes over what the events before it owed: they send nothing that is older. `anew` is for the delivery that begins a
 * replay or a sync; it takes the debt over without a change.
 */
export async function applyContactEvent(
  tx: Queryable,
  contact: MarketingContact,
  event: ContactEvent,
  { eventId, anew }: { readonly eventId: string; readonly anew: boolean },
): Promise<boolean> {
  const changed = changeContact(contact, event);
  if (changed !== null) await writeContact(tx, contact.id, changed, eventId);
  else if (anew) await tx.query(`UPDATE "MarketingContact" SET "owedBy" = $2 WHERE "id" = $1`, [contact.id, eventId]);
  else return contact.owedBy === eventId;
  return true;
}

async function writeContact(tx: Queryable, id: string, state: ContactState, eventId: string): Promise<void> {
  await tx.query(
    `UPDATE "MarketingContact"
     SET "email" = $2, "name" = $3, "attributes" = $4::jsonb, "appliedPosition" = $5, "consent" = $6, "consentAt" = $7, "consentSource" = $8,
         "consentPosition" = $9, "owedBy" = $10, "revision" = "revision" + 1, "updatedAt" = clock_timestamp()
     WHERE "id" = $1`,
    [
      id,
      state.email,
      state.name,
      JSON.stringify(state.attributes),
      state.appliedPosition?.toString() ?? null,
      state.consent,
      state.consentAt,
      state.consentSource,
      state.consentPosition?.toString() ?? null,
      eventId,
    ],
  );
}
