import type { Delivery } from "@toolctrl/consumer/define";
import { externalIdOf, insertIntent, listIntents, type Intent } from "@toolctrl/consumer/intents";
import type { Queryable } from "@toolctrl/db/sql";
import { applyContactEvent, contactEventOf, lockContactOf } from "@toolctrl/domain/marketing";
import { MARKETING_SYNC } from "./tell-provider.ts";

/**
 * Applies the event to its contact and, where it owes the provider the contact and there is a provider, writes the intent to tell it: in one
 * transaction. A second delivery changes nothing and finds the intent.
 * @returns the intent; null where there is nothing for this event to tell
 * @throws CodedError `RECEIVER.PAYLOAD`, `MAIL.ADDRESS`
 */
export async function keepContact(tx: Queryable, delivery: Delivery, { tells }: { tells: boolean }): Promise<Intent | null> {
  const { eventId, tenantId, type, payload, effectEpoch, envelope } = delivery;
  const event = contactEventOf({ type, payload, position: envelope.position, createdAt: envelope.createdAt });
  const contact = await lockContactOf(tx, { ...event, tenantId }, { make: event.kind !== "sync" });
  if (contact === null) return null;
  const key = { eventId, tenantId, effectEpoch, consumer: MARKETING_SYNC };
  const [known] = await listIntents(tx, key);
  if (known !== undefined) return known;
  const owes = await applyContactEvent(tx, contact, event, { eventId, anew: tells && (event.kind === "sync" || effectEpoch > 0) });
  if (!owes || !tells) return null;
  await insertIntent(tx, { ...key, target: contact.id }, externalIdOf(delivery));
  const [intent] = await listIntents(tx, key);
  return intent ?? null;
}
