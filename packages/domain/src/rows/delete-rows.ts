import type { OutboxTransaction } from "@toolctrl/db/outbox";
import { z } from "zod";
import type { RowSnapshot } from "./row.ts";

const deletedRow = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  revision: z.number(),
  data: z.record(z.string(), z.json()),
});

/**
 * Deletes locked rows, and gives what they were, in the order of `ids`. Their children must be gone.
 *
 * Lock: held by the caller. Index: the primary key.
 */
export async function deleteRows(tx: OutboxTransaction, ids: readonly string[]): Promise<RowSnapshot[]> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `DELETE FROM "Row" WHERE "id" = ANY ($1::uuid[])
     RETURNING "id"::text AS "id", "parentId"::text AS "parentId", "revision", "data"`,
    ids,
  );
  const deleted = z.array(deletedRow).parse(rows);
  const byId = new Map(deleted.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}
