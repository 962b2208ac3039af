import type { OutboxTransaction } from "@toolctrl/db/outbox";

/**
 * Locks the fields that go with rows, and the lookups of other rows that point to them, before the foreign keys touch them one by one
 * in an order of their own: two cascades whose rows look at each other would wait in a circle.
 *
 * Lock: the fields, FOR UPDATE, by (rowId, field). Index: the primary key and `RowField_lookupId_idx`.
 */
export async function lockFieldsOfRows(tx: OutboxTransaction, ids: readonly string[]): Promise<void> {
  await tx.$executeRawUnsafe(
    `SELECT 1 FROM "RowField" WHERE "rowId" = ANY ($1::uuid[]) OR "lookupId" = ANY ($1::uuid[]) ORDER BY "rowId", "field" FOR UPDATE`,
    ids,
  );
}
