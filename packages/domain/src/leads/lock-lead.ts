import type { Prisma } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";

const leadRow = z.object({
  id: z.string(),
  tenantId: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  companyName: z.string().nullable(),
  contactId: z.string().nullable(),
  companyId: z.string().nullable(),
  conversionEventId: z.string().nullable(),
});

export type LockedLead = z.output<typeof leadRow>;

/**
 * Locks a lead until the transaction ends, and reads it under the lock: whatever converting it makes is made by one at a time.
 *
 * Lock: the lead, FOR UPDATE. Index: the primary key. A crash here costs nothing.
 * @throws CodedError `LEAD.NOT_FOUND`
 */
export async function lockLead(tx: Prisma.TransactionClient, key: { tenantId: string; leadId: string }): Promise<LockedLead> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT "id"::text AS "id", "tenantId", "name", "email", "companyName", "contactId"::text AS "contactId",
       "companyId"::text AS "companyId", "conversionEventId"::text AS "conversionEventId"
     FROM "Lead" WHERE "id" = $1::uuid AND "tenantId" = $2::text FOR UPDATE`,
    key.leadId,
    key.tenantId,
  );
  if (rows[0] !== undefined) return leadRow.parse(rows[0]);
  throw new CodedError("LEAD.NOT_FOUND", `expected a lead ${key.leadId}, got none`, { facts: { leadId: key.leadId } });
}
