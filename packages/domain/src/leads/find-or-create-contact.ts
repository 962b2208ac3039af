import type { Prisma } from "@toolctrl/db/client";
import { uuidv7 } from "uuidv7";
import { contactKey } from "./comparison-keys.ts";
import { findOrCreate } from "./find-or-create.ts";
import type { LockedLead } from "./lock-lead.ts";

/** The id of the tenant's contact that the lead is; one that is known stays with its company. @throws CodedError `LEAD.CONFLICT` */
export function findOrCreateContact(tx: Prisma.TransactionClient, lead: LockedLead, companyId: string): Promise<string> {
  const { tenantId, name, email } = lead;
  const key = contactKey(lead);
  return findOrCreate(
    async () => (await tx.contact.findFirst({ where: { tenantId, contactKey: key }, select: { id: true } }))?.id,
    async () => {
      const id = uuidv7();
      const { count } = await tx.contact.createMany({
        data: [{ id, tenantId, companyId, name, email, contactKey: key }],
        skipDuplicates: true,
      });
      return count === 1 ? id : undefined;
    },
  );
}
