import type { Prisma } from "@toolctrl/db/client";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import { checkRowId, checkTable } from "./check-row.ts";
import type { Row, RowKey } from "./row.ts";

/** A row with what after-save effects have set on it. */
export interface RowView extends Row {
  /** Of a lookup the id of the other row; null where the snapshot had nothing, or the row that was looked up is gone. */
  readonly fields: Readonly<Record<string, JsonValue>>;
}

/**
 * Reads a row and its fields; null when there is none.
 * @throws CodedError `ROW.ARGUMENT`
 */
export async function readRow(db: Pick<Prisma.TransactionClient, "row">, key: RowKey): Promise<RowView | null> {
  checkTable(key.table);
  checkRowId(key.id, "id");
  const found = await db.row.findFirst({ where: { id: key.id, tenantId: key.tenantId, table: key.table }, include: { fields: true } });
  if (found === null) return null;
  const { id, tenantId, table, parentId, level, revision, fields } = found;
  return {
    id,
    tenantId,
    table,
    parentId,
    level,
    revision,
    data: found.data as JsonObject,
    fields: Object.fromEntries(fields.map(({ field, value, lookupId }) => [field, lookupId ?? (value as JsonValue)])),
  };
}
