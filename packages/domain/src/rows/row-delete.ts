import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { checkEventContext } from "../events-service/event-context.ts";
import { deleteRows } from "./delete-rows.ts";
import { lockChildren } from "./lock-children.ts";
import { lockFieldsOfRows } from "./lock-fields-of-rows.ts";
import { lockRow } from "./lock-row.ts";
import { publishDeletedRows } from "./publish-deleted-rows.ts";
import type { RowChangeOrigin } from "./publish-row-change.ts";
import type { RowKey } from "./row.ts";

/** A cascade holds all its locks until its transaction ends: a bigger one is to be done in parts. */
export const MAX_CASCADE_ROWS = 10_000;
/** Rows of 256 KiB each: what one statement publishes stays below its limit. */
const ROWS_PER_STATEMENT = 100;

export interface RowDelete extends RowKey, RowChangeOrigin {
  /** Told after each level of rows is locked, the row itself being level 0 of its cascade; awaited before the cascade goes on. */
  readonly onLevelLocked?: ((level: { readonly level: number; readonly ids: readonly string[] }) => Promise<void>) | undefined;
}

export interface DeletedRow {
  readonly table: string;
  readonly id: string;
  readonly eventId: string;
}

/**
 * Deletes a row and everything below it. Goes down level by level, holding each row FOR UPDATE, then deletes from the bottom up and
 * publishes `record.<table>.deleted` for each row with what it was. docs/cascade-delete-lock-scope.md says who waits for it meanwhile.
 * With a `context` each row is the application event `row.deleted` too; people are notified of the row itself alone.
 *
 * @returns the deleted rows, deepest first
 * @throws CodedError `ROW.ARGUMENT`, `ROW.NOT_FOUND`, `ROW.CASCADE_TOO_LARGE`, `PUBLISH.ROOT_CLIENT`, `PUBLISH.ARGUMENT`
 */
export async function rowDelete(tx: OutboxTransaction, request: RowDelete): Promise<DeletedRow[]> {
  assertOutboxTransaction(tx);
  if (request.context !== undefined) checkEventContext(request.context);
  const locked = await lockSubtree(tx, request);
  await lockFieldsOfRows(
    tx,
    locked.map(({ id }) => id),
  );
  const deleted: DeletedRow[] = [];
  const deepestFirst = locked.toReversed();
  const { tenantId, event, context } = request;
  // The id as the database writes it: a caller may have written it in capitals.
  const origin = { tenantId, cascadeRootId: locked[0]?.id ?? request.id, event, context };
  for (let start = 0; start < deepestFirst.length; start += ROWS_PER_STATEMENT) {
    deleted.push(...(await deletePart(tx, origin, deepestFirst.slice(start, start + ROWS_PER_STATEMENT))));
  }
  return deleted;
}

type Locked = { readonly id: string; readonly table: string };

async function lockSubtree(tx: OutboxTransaction, request: RowDelete): Promise<Locked[]> {
  const root = await lockRow(tx, request, "FOR UPDATE");
  const locked: Locked[] = [];
  for (let level: Locked[] = [root], depth = 0; level.length > 0; depth += 1) {
    locked.push(...level);
    if (locked.length > MAX_CASCADE_ROWS) {
      const { table, id } = request;
      throw new CodedError(
        "ROW.CASCADE_TOO_LARGE",
        `expected at most ${MAX_CASCADE_ROWS} rows in the cascade of ${table}/${id}, got more`,
        {
          facts: { table, id, limit: MAX_CASCADE_ROWS },
        },
      );
    }
    const ids = level.map(({ id }) => id);
    await request.onLevelLocked?.({ level: depth, ids });
    level = await lockChildren(tx, ids, MAX_CASCADE_ROWS + 1 - locked.length);
  }
  return locked;
}

async function deletePart(
  tx: OutboxTransaction,
  { tenantId, cascadeRootId, ...origin }: RowChangeOrigin & { readonly tenantId: string; readonly cascadeRootId: string },
  part: readonly Locked[],
): Promise<DeletedRow[]> {
  const tables = new Map(part.map(({ id, table }) => [id, table]));
  const gone = await deleteRows(tx, [...tables.keys()]);
  const changes = gone.map((before) => {
    return { tenantId, table: tables.get(before.id) ?? "", kind: "deleted" as const, before, cascadeRootId };
  });
  const eventIds = await publishDeletedRows(tx, changes, origin);
  return changes.map(({ before, table }, index) => ({ id: before.id, table, eventId: eventIds[index] ?? "" }));
}
