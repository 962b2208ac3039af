import { convertLead, createLead } from "@toolctrl/domain/leads";
import type { PrismaTx } from "../intents.ts";
import type { SampleCase } from "../sample-case.ts";

/** A lead that is converted twice at once, as after a double click: one opportunity, named after the company, which has the key. */
export const convertedLead: SampleCase = {
  name: "converted lead",
  effects: { "opportunity-create": 1 },
  async write(tx, { tenantId, runId }, key) {
    await createLead(tx, { tenantId, name: "Ann", companyName: `Company ${key}`, event: { correlationId: runId } });
    return 1;
  },
  async follow({ database, tenantId, runId }, key) {
    const { id: leadId } = await database.prisma.lead.findFirstOrThrow({
      where: { tenantId, companyName: `Company ${key}` },
      select: { id: true },
    });
    const convert = (tx: PrismaTx) => convertLead(tx, { tenantId, leadId, event: { correlationId: runId } });
    await Promise.all([database.prisma.$transaction(convert), database.prisma.$transaction(convert)]);
    return 1;
  },
};
