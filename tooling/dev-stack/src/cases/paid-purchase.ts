import { rowCreate, rowUpdate } from "@toolctrl/domain/rows";
import { REQUEST } from "../prepare-workflows.ts";
import type { SampleCase } from "../sample-case.ts";

/** A purchase that is entered and then paid: the tenant's workflow tells the shop, which is away at first, and notes that it did. */
export const paidPurchase: SampleCase = {
  name: "paid purchase",
  effects: { "workflow-trigger": 1, "webhook-deliver": 2 },
  async write(tx, { tenantId, runId }, key) {
    const event = { correlationId: runId };
    const { row } = await rowCreate(tx, { tenantId, table: "purchase", data: { key, state: "new", amount: 20 }, context: REQUEST, event });
    await rowUpdate(tx, { tenantId, table: "purchase", id: row.id, data: { state: "paid" }, context: REQUEST, event });
    return 6;
  },
};
