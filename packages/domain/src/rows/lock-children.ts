import type { OutboxTransaction } from "@toolctrl/db/outbox";
import { z } from "zod";

const childRow = z.object({ id: z.string(), table: z.string() });

export type LockedChild = z.output<typeof childRow>;

/**
 * Locks the children of rows that are locked already, so that no child can be added meanwhile.
 *
 * Lock: the children, FOR UPDATE, by id; level by level that is the order (level, id) of everybody who locks several rows.
 * Index: `Row_parentId_idx`. A crash here costs nothing.
 * @returns at most `limit` of them
 */
export async function lockChildren(tx: OutboxTransaction, parentIds: readonly string[], limit: number): Promise<LockedChild[]> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT "id"::text AS "id", "table" FROM "Row" WHERE "parentId" = ANY ($1::uuid[]) ORDER BY "id" LIMIT $2::int FOR UPDATE`,
    parentIds,
    limit,
  );
  return z.array(childRow).parse(rows);
}
