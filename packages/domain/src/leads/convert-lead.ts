import type { Prisma } from "@toolctrl/db/client";
import { assertOutboxTransaction, publishOutboxEvent } from "@toolctrl/db/outbox";
import type { RowEventContext } from "../rows/row.ts";
import { findOrCreateCompany } from "./find-or-create-company.ts";
import { findOrCreateContact } from "./find-or-create-contact.ts";
import { lockLead, type LockedLead } from "./lock-lead.ts";
import type { TransactionClient } from "../transaction-client.ts";

export interface LeadConversion {
  readonly tenantId: string;
  readonly leadId: string;
  readonly event?: RowEventContext | undefined;
}

export interface Conversion {
  readonly leadId: string;
  readonly contactId: string;
  readonly companyId: string;
  /** The event that told of it; the opportunity is its after-save effect. */
  readonly eventId: string;
  /** Whether it had happened before, and nothing was written now. */
  readonly alreadyConverted: boolean;
}

const MARK = `UPDATE "Lead" SET "status" = 'converted', "contactId" = $2::uuid, "companyId" = $3::uuid, "conversionEventId" = $4::uuid,
  "convertedAt" = clock_timestamp(), "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`;

/**
 * Converts a lead: finds or creates company and contact, publishes `record.lead.converted`, marks the lead. Whoever comes second, even at
 * the same time, gets the same ids.
 *
 * Locks are taken in one order by everybody: lead, company, contact.
 * @throws CodedError `LEAD.NOT_FOUND`, `LEAD.CONFLICT`, `PUBLISH.ROOT_CLIENT`
 */
export async function convertLead(tx: TransactionClient, request: LeadConversion): Promise<Conversion> {
  assertOutboxTransaction(tx);
  const lead = await lockLead(tx, request);
  const done = conversionOf(lead);
  if (done !== null) return done;
  const companyId = await findOrCreateCompany(tx, { tenantId: lead.tenantId, name: lead.companyName ?? lead.name });
  const contactId = await findOrCreateContact(tx, lead, companyId);
  const eventId = await publishConversion(tx, lead, { companyId, contactId }, request.event);
  await tx.$executeRawUnsafe(MARK, lead.id, contactId, companyId, eventId);
  return { leadId: lead.id, contactId, companyId, eventId, alreadyConverted: false };
}

function conversionOf({ id, contactId, companyId, conversionEventId }: LockedLead): Conversion | null {
  if (contactId === null || companyId === null || conversionEventId === null) return null;
  return { leadId: id, contactId, companyId, eventId: conversionEventId, alreadyConverted: true };
}

// The lead is locked, so its events stand in the order of its writes, though this one is published before the mark that holds its id.
async function publishConversion(
  tx: Prisma.TransactionClient,
  lead: LockedLead,
  ids: { companyId: string; contactId: string },
  event: RowEventContext | undefined,
): Promise<string> {
  const { tenantId, id, name, companyName } = lead;
  const payload = { object: "lead" as const, recordId: id, ...ids, opportunityName: companyName ?? name };
  const { id: eventId } = await publishOutboxEvent(tx, {
    ...event,
    tenantId,
    type: "record.lead.converted",
    payload,
    recordKey: `lead/${id}`,
  });
  return eventId;
}
