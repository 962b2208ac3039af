import type { Queryable } from "@toolctrl/db/sql";

/** Deletes chunks by their ids. Lock: the chunks; the caller has their document's. Index: the primary key. */
export async function removeChunks(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.query(`DELETE FROM "RagChunk" WHERE "id" = ANY($1::uuid[])`, [ids]);
}
