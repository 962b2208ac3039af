import type { EffectEvent, NamedEffect } from "@toolctrl/db/after-save-effect";
import type { Prisma } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import { leadConvertedSchema } from "@toolctrl/foundation/events";
import { uuidv7 } from "uuidv7";
import { drawNumber } from "./draw-number.ts";
import { lockLead } from "./lock-lead.ts";

/**
 * Makes the opportunity of a converted lead, once: its natural key is the source lead.
 *
 * The order of locks is lead, (other effects,) counter, so this effect is to be the last of its event. The lead's lock makes find and
 * insert one step, with or without the unique key; whoever finds one draws no number, and a number drawn falls back with the attempt.
 */
export const opportunityCreate: NamedEffect<"opportunity-create"> = {
  name: "opportunity-create",
  on: ["record.lead.converted"],
  async run(tx, event) {
    const { recordId: sourceLeadId, contactId, companyId, opportunityName } = payloadOf(event);
    const { tenantId } = event;
    await lockLead(tx, { tenantId, leadId: sourceLeadId });
    if (await exists(tx, { tenantId, sourceLeadId })) return;
    const number = await drawNumber(tx, { tenantId, name: "opportunity" });
    const row = { id: uuidv7(), tenantId, number, name: opportunityName, sourceLeadId, contactId, companyId };
    // Without a target: before the key's migration there is no index to name, and after a failed build an invalid one.
    const { count } = await tx.opportunity.createMany({ data: [row], skipDuplicates: true });
    if (count === 1) return;
    // Somebody wrote past the lead's lock. Failing gives the number back; the next attempt finds theirs.
    throw new CodedError("LEAD.CONFLICT", `expected lead ${sourceLeadId} to have no opportunity under its lock, got one`, {
      facts: { leadId: sourceLeadId },
    });
  },
};

async function exists(tx: Prisma.TransactionClient, key: { tenantId: string; sourceLeadId: string }): Promise<boolean> {
  return (await tx.opportunity.findFirst({ where: key, select: { id: true } })) !== null;
}

function payloadOf(event: EffectEvent) {
  const parsed = leadConvertedSchema.safeParse(event.payload);
  if (parsed.success) return parsed.data;
  throw new CodedError("RECEIVER.PAYLOAD", `expected the payload of record.lead.converted, got ${parsed.error.message}`, {
    facts: { eventId: event.id },
    cause: parsed.error,
  });
}
