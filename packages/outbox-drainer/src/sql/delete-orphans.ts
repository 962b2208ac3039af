import type { Queryable } from "@toolctrl/db/sql";

/** What belongs to an event and goes, in this order, when the event is gone. Deleting a mail deletes its deliveries. */
export const ORPHAN_TABLES = ["OutboxReceipt", "OutboxIntent", "EmailMessage"] as const;
export type OrphanTable = (typeof ORPHAN_TABLES)[number];

const AGE_COLUMN: Record<OrphanTable, string> = { OutboxReceipt: "updatedAt", OutboxIntent: "updatedAt", EmailMessage: "createdAt" };

/**
 * Deletes one batch of rows that are old and whose event is gone: without the event no job can ask for them any more.
 *
 * Order: oldest first, by the retention index of each table. Lock: the deleted rows, SKIP LOCKED. A crash costs nothing.
 * @returns the number of rows deleted.
 */
export async function deleteOrphans(db: Queryable, table: OrphanTable, olderThanHours: number, limit: number): Promise<number> {
  const age = AGE_COLUMN[table];
  const { rowCount } = await db.query(
    `WITH old AS MATERIALIZED (
       SELECT o.ctid FROM "${table}" o
       WHERE o."${age}" < (SELECT clock_timestamp()) - $1::float8 * interval '1 hour'
         AND NOT EXISTS (SELECT 1 FROM "OutboxEvent" e WHERE e."id" = o."eventId")
       ORDER BY o."${age}" LIMIT $2 FOR UPDATE OF o SKIP LOCKED
     )
     DELETE FROM "${table}" t USING old WHERE t.ctid = old.ctid`,
    [olderThanHours, limit],
  );
  return rowCount ?? 0;
}
