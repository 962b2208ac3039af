import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import { findOrCreate } from "./find-or-create.ts";
import { insertLead } from "./insert-lead.ts";
import { checkLead, type NewLead } from "./lead-input.ts";

export interface SourcedLead extends NewLead {
  /** What the lead is made from: of one source there is one lead of the tenant. */
  readonly sourceKey: string;
}

export interface FoundLead {
  readonly id: string;
  /** Whether it was made now; one that was there stays as it is. */
  readonly created: boolean;
}

const FIND = `SELECT "id"::text AS "id" FROM "Lead" WHERE "tenantId" = $1::text AND "sourceKey" = $2::text`;

/**
 * The lead of a source, else a new one with its `record.lead.created`. Two transactions at the same time get the same lead: the second
 * waits for the end of the first. No unique key's error leaves it.
 *
 * To be called before the transaction publishes anything else: whoever waits here for a rival then holds nothing that the rival needs.
 * Index: `Lead_tenantId_sourceKey_key`.
 * @throws CodedError `LEAD.ARGUMENT`, `MAIL.ADDRESS`, `LEAD.CONFLICT`, `PUBLISH.ROOT_CLIENT`
 */
export async function findOrCreateLead(tx: OutboxTransaction, input: SourcedLead): Promise<FoundLead> {
  const lead = checkLead(input);
  assertOutboxTransaction(tx);
  const { tenantId, sourceKey, event } = input;
  let created = false;
  const id = await findOrCreate(
    async () => (await tx.$queryRawUnsafe<Array<{ id: string }>>(FIND, tenantId, sourceKey))[0]?.id,
    async () => {
      const inserted = await insertLead(tx, { ...lead, tenantId, sourceKey }, event);
      created = inserted !== undefined;
      return inserted;
    },
  );
  return { id, created };
}
