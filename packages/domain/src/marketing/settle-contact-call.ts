import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import type { ContactCallKey } from "./begin-contact-call.ts";

/**
 * How a call ended. `told`: the provider has it, or has erased the person for good. `refused`: it did not take it. `unknown`: it may have it,
 * and may still be at it. `lost`: the call ended after another delivery of the event had given it up.
 */
export type ContactCallEnd =
  | { readonly kind: "told"; readonly providerId: string | null }
  | { readonly kind: "refused" | "unknown" }
  | { readonly kind: "lost"; readonly reached: boolean };

/**
 * Writes how the call of an event ended.
 *
 * A call that was still running when its time was over (a process that stood still) may have reached the provider after the call of a younger
 * event. Then the contact is told once more, by an event of its own.
 *
 * Lock: the contact, after the intent. A crash here leaves the intent `sending`: the call is repeated, as it was.
 */
export async function settleContactCall(tx: Queryable, key: ContactCallKey, end: ContactCallEnd): Promise<void> {
  const { tenantId, contactId, eventId, intentId } = key;
  const { rows } = await tx.query<{ email: string; ours: boolean }>(
    `SELECT "email", "callIntentId" = $3 AS "ours" FROM "MarketingContact" WHERE "id" = $1 AND "tenantId" = $2 FOR UPDATE`,
    [contactId, tenantId, intentId],
  );
  const [contact] = rows;
  if (contact === undefined) return;
  const late = end.kind === "lost" || !contact.ours;
  if (!late) return settle(tx, key, end);
  const reached = end.kind === "lost" ? end.reached : end.kind !== "refused";
  if (!reached) return;
  await publishOutboxEvent(outboxTransactionOf(tx), {
    tenantId,
    type: "marketing.lead.sync",
    payload: { email: contact.email },
    causationId: eventId,
  });
}

/** Until an unknown call's deadline is over the provider may still be at it: others wait. */
async function settle(tx: Queryable, { contactId, eventId }: ContactCallKey, end: ContactCallEnd): Promise<void> {
  if (end.kind === "unknown") return;
  const providerId = end.kind === "told" ? end.providerId : null;
  await tx.query(
    `UPDATE "MarketingContact"
     SET "callUntil" = NULL, "providerId" = coalesce($3, "providerId"),
         "toldAt" = CASE WHEN $4::boolean THEN clock_timestamp() ELSE "toldAt" END,
         "owedBy" = CASE WHEN $4::boolean AND "owedBy" = $2 THEN NULL ELSE "owedBy" END
     WHERE "id" = $1`,
    [contactId, eventId, providerId, end.kind === "told"],
  );
}
