import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";
import { checkEventContext } from "../events-service/event-context.ts";
import { checkData, checkTable } from "./check-row.ts";
import { lockRow } from "./lock-row.ts";
import { publishRowChange, type RowChangeOrigin } from "./publish-row-change.ts";
import type { Row, RowChange } from "./row.ts";

/** Rows below rows below rows: deeper is nearly always a mistake, and a cascade goes down one statement a level. */
export const MAX_ROW_LEVEL = 32;

export interface NewRow extends RowChangeOrigin {
  readonly tenantId: string;
  readonly table: string;
  readonly data: JsonObject;
  /** The row above it, of the same tenant. It stays so for good. */
  readonly parent?: { readonly table: string; readonly id: string } | undefined;
}

const INSERT = `INSERT INTO "Row" ("id", "tenantId", "table", "parentId", "level", "revision", "data")
VALUES ($1::uuid, $2::text, $3::text, $4::uuid, $5::int, $6::int, $7::jsonb)`;

/**
 * Adds a row to a tenant's table, and publishes `record.<table>.created` in the same transaction. A parent is held against deletion
 * until that ends; one that is being deleted is waited for. With a `context` it is the application event `row.created` too.
 *
 * @throws CodedError `ROW.ARGUMENT`, `ROW.NOT_FOUND` when there is no such parent, `PUBLISH.ROOT_CLIENT`, `PUBLISH.ARGUMENT`
 */
export async function rowCreate(tx: OutboxTransaction, input: NewRow): Promise<RowChange> {
  const { tenantId, table, parent } = input;
  assertOutboxTransaction(tx);
  checkTable(table);
  const data = checkData(input.data);
  if (input.context !== undefined) checkEventContext(input.context);
  const above = parent === undefined ? undefined : await lockRow(tx, { tenantId, ...parent }, "FOR KEY SHARE");
  const level = above === undefined ? 0 : above.level + 1;
  if (level > MAX_ROW_LEVEL) {
    throw new CodedError("ROW.ARGUMENT", `expected a row at most ${MAX_ROW_LEVEL} levels deep, got ${level}`, { facts: { level } });
  }
  const row: Row = { id: uuidv7(), tenantId, table, parentId: above?.id ?? null, level, revision: 1, data };
  await tx.$executeRawUnsafe(INSERT, row.id, tenantId, table, row.parentId, level, row.revision, JSON.stringify(data));
  const eventId = await publishRowChange(tx, { tenantId, table, kind: "created", after: row }, input);
  return { row, eventId };
}
