import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { checkEventContext } from "../events-service/event-context.ts";
import { checkData } from "./check-row.ts";
import { lockRow } from "./lock-row.ts";
import { publishRowChange, type RowChangeOrigin } from "./publish-row-change.ts";
import type { Row, RowChange, RowKey } from "./row.ts";

export interface RowUpdate extends RowKey, RowChangeOrigin {
  /** Members to set; those not named stay. `null` is a value. */
  readonly data: JsonObject;
}

// By hand, because the time is the database's.
const WRITE = `UPDATE "Row" SET "data" = $2::jsonb, "revision" = $3::int, "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid`;

/**
 * Sets members of a row's data: locks it, writes it, and publishes `record.<table>.updated` with the row before and after.
 * With a `context` it is the application event `row.updated` too.
 *
 * @throws CodedError `ROW.ARGUMENT`, `ROW.NOT_FOUND`, `PUBLISH.ROOT_CLIENT`, `PUBLISH.ARGUMENT`
 */
export async function rowUpdate(tx: OutboxTransaction, update: RowUpdate): Promise<RowChange> {
  assertOutboxTransaction(tx);
  const patch = checkData(update.data);
  if (update.context !== undefined) checkEventContext(update.context);
  const before = await lockRow(tx, update, "FOR NO KEY UPDATE");
  const { tenantId, table } = before;
  const after: Row = { ...before, revision: before.revision + 1, data: checkData({ ...before.data, ...patch }) };
  await tx.$executeRawUnsafe(WRITE, after.id, JSON.stringify(after.data), after.revision);
  const eventId = await publishRowChange(tx, { tenantId, table, kind: "updated", before, after }, update);
  return { row: after, eventId };
}
