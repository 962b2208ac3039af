import type { Prisma } from "@toolctrl/db/client";
import { uuidv7 } from "uuidv7";
import { companyNameKey } from "./comparison-keys.ts";
import { findOrCreate } from "./find-or-create.ts";

/** The id of the tenant's company of that name. @throws CodedError `LEAD.CONFLICT` */
export function findOrCreateCompany(tx: Prisma.TransactionClient, company: { tenantId: string; name: string }): Promise<string> {
  const { tenantId, name } = company;
  const nameKey = companyNameKey(name);
  return findOrCreate(
    async () => (await tx.company.findFirst({ where: { tenantId, nameKey }, select: { id: true } }))?.id,
    async () => {
      const id = uuidv7();
      const { count } = await tx.company.createMany({ data: [{ id, tenantId, name, nameKey }], skipDuplicates: true });
      return count === 1 ? id : undefined;
    },
  );
}
