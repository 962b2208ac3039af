import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const snapshotRow = z.object({ seconds: z.number() });

/**
 * How long (s) the oldest transaction of this database has been open that holds a snapshot or has written, prepared ones included; 0 for none.
 * VACUUM removes no row that was deleted since: claims then read over more and more dead entries of their index, and take about ten times as long.
 *
 * Reads statistics, no table. Without `pg_read_all_stats` the server tells of the role's own transactions alone. Its workers of VACUUM hold
 * nothing back, and are left out.
 */
export async function readOldestSnapshot(db: Queryable): Promise<number> {
  const { rows } = await db.query(
    `SELECT COALESCE(extract(epoch FROM clock_timestamp() - min("since")), 0)::float8 AS "seconds" FROM (
       SELECT "xact_start" AS "since" FROM pg_stat_activity
        WHERE "datname" = current_database() AND "pid" <> pg_backend_pid() AND "backend_type" <> 'autovacuum worker'
          AND ("backend_xmin" IS NOT NULL OR "backend_xid" IS NOT NULL)
        UNION ALL
       SELECT "prepared" FROM pg_prepared_xacts WHERE "database" = current_database()) x`,
  );
  return snapshotRow.parse(rows[0]).seconds;
}
