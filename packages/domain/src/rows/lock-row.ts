import type { OutboxTransaction } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";
import { checkRowId, checkTable } from "./check-row.ts";
import type { Row, RowKey } from "./row.ts";

const lockedRow = z.object({
  id: z.string(),
  tenantId: z.string(),
  table: z.string(),
  parentId: z.string().nullable(),
  level: z.number(),
  revision: z.number(),
  data: z.record(z.string(), z.json()),
});

/**
 * How hard a row is held. An update lets children be added and fields be set meanwhile; a parent's share only keeps the row from being
 * deleted; a delete lets nobody near.
 */
export type RowLock = "FOR UPDATE" | "FOR NO KEY UPDATE" | "FOR KEY SHARE";

/**
 * Locks a row until the transaction ends, and reads it under the lock.
 *
 * Lock: the row. Index: the primary key. A crash here costs nothing.
 * @throws CodedError `ROW.ARGUMENT`, `ROW.NOT_FOUND`; 55P03 of the database when the lock is not given within `lock_timeout`
 */
export async function lockRow(tx: OutboxTransaction, key: RowKey, lock: RowLock): Promise<Row> {
  checkTable(key.table);
  checkRowId(key.id, "id");
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT "id"::text AS "id", "tenantId", "table", "parentId"::text AS "parentId", "level", "revision", "data" FROM "Row"
     WHERE "id" = $1::uuid AND "tenantId" = $2::text AND "table" = $3::text ${lock}`,
    key.id,
    key.tenantId,
    key.table,
  );
  if (rows[0] === undefined) {
    const { table, id } = key;
    throw new CodedError("ROW.NOT_FOUND", `expected a row ${id} in ${table}, got none`, { facts: { table, id } });
  }
  return lockedRow.parse(rows[0]);
}
