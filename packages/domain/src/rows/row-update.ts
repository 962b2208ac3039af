import { assertOutboxTransaction, publishOutboxEvent } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { checkData } from "./check-row.ts";
import { lockRow } from "./lock-row.ts";
import { rowEvent } from "./row-event.ts";
import type { Row, RowChange, RowEventContext, RowKey } from "./row.ts";
import type { TransactionClient } from "../transaction-client.ts";

export interface RowUpdate extends RowKey {
  /** Members to set; those not named stay. `null` is a value. */
  readonly data: JsonObject;
  readonly event?: RowEventContext | undefined;
}

// By hand, because the time is the database's.
const WRITE = `UPDATE "Row" SET "data" = $2::jsonb, "revision" = $3::int, "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`;

/**
 * Sets members of a row's data: locks it, writes it, and publishes `record.<table>.updated` with the row before and after.
 *
 * @throws CodedError `ROW.ARGUMENT`, `ROW.NOT_FOUND`, `PUBLISH.ROOT_CLIENT`
 */
export async function rowUpdate(tx: TransactionClient, update: RowUpdate): Promise<RowChange> {
  assertOutboxTransaction(tx);
  const patch = checkData(update.data);
  const before = await lockRow(tx, update, "FOR NO KEY UPDATE");
  const { tenantId, table } = before;
  const after: Row = { ...before, revision: before.revision + 1, data: checkData({ ...before.data, ...patch }) };
  await tx.$executeRawUnsafe(WRITE, after.id, JSON.stringify(after.data), after.revision);
  const { id: eventId } = await publishOutboxEvent(tx, rowEvent({ tenantId, table, kind: "updated", before, after }, update.event));
  return { row: after, eventId };
}
