import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { insertLead } from "./insert-lead.ts";
import { checkLead, type NewLead } from "./lead-input.ts";

/**
 * Adds a lead, and publishes `record.lead.created` in the same transaction. @returns its id
 * @throws CodedError `LEAD.ARGUMENT`, `MAIL.ADDRESS`, `PUBLISH.ROOT_CLIENT`
 */
export async function createLead(tx: OutboxTransaction, input: NewLead): Promise<string> {
  const lead = checkLead(input);
  assertOutboxTransaction(tx);
  const id = await insertLead(tx, { ...lead, tenantId: input.tenantId, sourceKey: null }, input.event);
  if (id !== undefined) return id;
  // Two ids of this process that are the same: it takes a broken generator.
  throw new CodedError("LEAD.CONFLICT", "expected the id of a new lead to be free, got one that is taken");
}
