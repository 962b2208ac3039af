import { assertOutboxTransaction, publishOutboxEvent } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";
import { checkData, checkTable } from "./check-row.ts";
import { lockRow } from "./lock-row.ts";
import { rowEvent } from "./row-event.ts";
import type { Row, RowChange, RowEventContext } from "./row.ts";
import type { TransactionClient } from "../transaction-client.ts";

/** Rows below rows below rows: deeper is nearly always a mistake, and a cascade goes down one statement a level. */
export const MAX_ROW_LEVEL = 32;

export interface NewRow {
  readonly tenantId: string;
  readonly table: string;
  readonly data: JsonObject;
  /** The row above it, of the same tenant. It stays so for good. */
  readonly parent?: { readonly table: string; readonly id: string } | undefined;
  readonly event?: RowEventContext | undefined;
}

/**
 * Adds a row to a tenant's table, and publishes `record.<table>.created` in the same transaction. A parent is held against deletion
 * until that ends; one that is being deleted is waited for.
 *
 * @throws CodedError `ROW.ARGUMENT`, `ROW.NOT_FOUND` when there is no such parent, `PUBLISH.ROOT_CLIENT`
 */
export async function rowCreate(tx: TransactionClient, input: NewRow): Promise<RowChange> {
  const { tenantId, table, parent } = input;
  assertOutboxTransaction(tx);
  checkTable(table);
  const data = checkData(input.data);
  const above = parent === undefined ? undefined : await lockRow(tx, { tenantId, ...parent }, "FOR KEY SHARE");
  const level = above === undefined ? 0 : above.level + 1;
  if (level > MAX_ROW_LEVEL) {
    throw new CodedError("ROW.ARGUMENT", `expected a row at most ${MAX_ROW_LEVEL} levels deep, got ${level}`, { facts: { level } });
  }
  const row: Row = { id: uuidv7(), tenantId, table, parentId: above?.id ?? null, level, revision: 1, data };
  await tx.row.create({ data: row, select: { id: true } });
  const { id: eventId } = await publishOutboxEvent(tx, rowEvent({ tenantId, table, kind: "created", after: row }, input.event));
  return { row, eventId };
}
