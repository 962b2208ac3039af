import type { Prisma } from "@toolctrl/db/client";

/**
 * Holds rows against deletion until the transaction ends. Never waits: a row that is being deleted answers 55P03 at once, so that a long
 * cascade occupies no worker while it lasts. Only deletions conflict; updates and other effects do not.
 *
 * Lock: the rows, FOR KEY SHARE, in the order (level, id) of a cascade. Index: the primary key. A crash here costs nothing.
 * @returns the ids that are there, among those of this tenant
 */
export async function holdRows(tx: Prisma.TransactionClient, tenantId: string, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.$queryRawUnsafe<Array<{ id: string }>>(
    `SELECT "id"::text AS "id" FROM "Row" WHERE "id" = ANY ($1::uuid[]) AND "tenantId" = $2::text
     ORDER BY "level", "id" FOR KEY SHARE NOWAIT`,
    ids,
    tenantId,
  );
  return new Set(rows.map(({ id }) => id));
}
