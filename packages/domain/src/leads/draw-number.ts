import type { Prisma } from "@toolctrl/db/client";

/**
 * The tenant's next number of that name, 1 for the first. It falls back with the transaction, so the numbers of what is committed have no
 * hole. To be the last lock of its transaction: every other draw of the tenant waits until that ends.
 *
 * Lock: the counter's row. A crash here costs nothing.
 */
export async function drawNumber(tx: Prisma.TransactionClient, counter: { tenantId: string; name: string }): Promise<bigint> {
  const rows = await tx.$queryRawUnsafe<Array<{ value: string }>>(
    `INSERT INTO "TenantCounter" AS c ("tenantId", "name", "value") VALUES ($1::text, $2::text, 1)
     ON CONFLICT ("tenantId", "name") DO UPDATE SET "value" = c."value" + 1 RETURNING "value"::text AS "value"`,
    counter.tenantId,
    counter.name,
  );
  return BigInt(rows[0]?.value ?? 0);
}
