import type { Queryable } from "@toolctrl/db/sql";

/** Whether "OutboxEvent_held_idx" is there and valid. A database from before it has no held events, and looking for them would read its backlog. */
export async function heldIndexReady(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('"OutboxEvent_held_idx"') AND indisvalid`);
  return rowCount === 1;
}
