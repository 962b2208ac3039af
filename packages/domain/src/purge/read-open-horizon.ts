import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const horizonRow = z.object({ horizon: z.string() });

/**
 * The oldest transaction of this database that is open and writes, as the text of its xid, or the next one to come: whatever an older one wrote,
 * statements after this one see it. From the locks that every such transaction holds on itself, which any role may look at, and those
 * that are prepared.
 *
 * The snapshot of the statement is older than the list of locks: who has ended in between is seen later, who has begun is younger.
 * Lock: none.
 */
export async function readOpenHorizon(db: Queryable): Promise<string> {
  const { rows } = await db.query(
    `SELECT COALESCE((
       SELECT o."xid" FROM (
         SELECT l."transactionid" AS "xid" FROM pg_locks l JOIN pg_stat_activity a ON a."pid" = l."pid"
          WHERE l."locktype" = 'transactionid' AND l."mode" = 'ExclusiveLock' AND l."granted" AND a."datname" = current_database()
         UNION ALL
         SELECT p."transaction" FROM pg_prepared_xacts p WHERE p."database" = current_database()
       ) o ORDER BY age(o."xid") DESC LIMIT 1
     ), pg_snapshot_xmax(pg_current_snapshot())::xid)::text AS "horizon"`,
  );
  return horizonRow.parse(rows[0]).horizon;
}
