import type { Queryable } from "@toolctrl/db/sql";
import type { MarketingContact, ProviderStatus } from "./contact.ts";
import { decideCall } from "./decide-call.ts";
import { lockContact } from "./lock-contact.ts";

/** What an event does about the provider now. A `call` is marked on the contact. */
export type ContactCall =
  | { readonly kind: "call"; readonly contact: MarketingContact; readonly status: ProviderStatus }
  | { readonly kind: "later"; readonly waitMs: number }
  | { readonly kind: "overtaken" | "nothing" };

export interface ContactCallKey {
  readonly tenantId: string;
  readonly contactId: string;
  readonly eventId: string;
  readonly intentId: string;
}

/**
 * Decides about the call of an event in the transaction that begins it, and marks the contact as being told until the call's deadline is over.
 *
 * Lock: the contact, after the intent. The suppression is read by a statement of its own: one that waited for the lock would still see the
 * suppressions from before its wait. A crash after the commit leaves the mark, which ends with the deadline; the same event needs not wait for it.
 */
export async function beginContactCall(tx: Queryable, key: ContactCallKey, { deadlineMs }: { deadlineMs: number }): Promise<ContactCall> {
  const contact = await lockContact(tx, { tenantId: key.tenantId, id: key.contactId });
  if (contact === null) return { kind: "nothing" };
  const decision = decideCall(contact, { ...key, suppressed: await isSuppressed(tx, contact.id) });
  if (decision.kind === "nothing") await tx.query(`UPDATE "MarketingContact" SET "owedBy" = NULL WHERE "id" = $1`, [contact.id]);
  if (decision.kind !== "call") return decision;
  await tx.query(
    `UPDATE "MarketingContact"
     SET "callIntentId" = $2, "toldStatus" = $3, "callUntil" = clock_timestamp() + $4::float8 * interval '1 millisecond'
     WHERE "id" = $1`,
    [contact.id, key.intentId, decision.status, deadlineMs],
  );
  return { ...decision, contact };
}

async function isSuppressed(tx: Queryable, contactId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `SELECT 1 FROM "MarketingContact" contact JOIN "MarketingSuppression" suppression USING ("tenantId", "emailKey") WHERE contact."id" = $1`,
    [contactId],
  );
  return rowCount === 1;
}
