import { rowCreate, rowUpdate } from "@toolctrl/domain/rows";
import type { SampleCase } from "../sample-case.ts";

/**
 * An order below an account, which then gets the name that has the key. The account says what its last order is called: the event of the
 * first name may come late, not last.
 */
export const renamedOrder: SampleCase = {
  name: "renamed order",
  effects: { "field-sets": 1 },
  async write(tx, { tenantId, runId }, key) {
    const event = { correlationId: runId };
    const { row: account } = await rowCreate(tx, { tenantId, table: "account", data: { name: "An account" }, event });
    const parent = { table: "account", id: account.id };
    await rowCreate(tx, { tenantId, table: "order", data: { name: "A new order", key }, parent, event });
    return 2;
  },
  async follow({ database, tenantId, runId }, key) {
    await database.prisma.$transaction(async (tx) => {
      const [order] = await tx.$queryRaw<
        { id: string }[]
      >`SELECT "id" FROM "Row" WHERE "tenantId" = ${tenantId} AND "table" = 'order' AND "data"->>'key' = ${key}`;
      if (order === undefined) throw new Error(`expected the order ${key} to be there, got none`);
      await rowUpdate(tx, { tenantId, table: "order", id: order.id, data: { name: `Order ${key}` }, event: { correlationId: runId } });
    });
    return 1;
  },
};
