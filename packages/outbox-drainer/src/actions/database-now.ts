import type { Queryable } from "@toolctrl/db/sql";

/** The database's time, the only clock that event times are compared with. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>(`SELECT clock_timestamp() AS "now"`);
  const row = rows[0];
  if (row === undefined) throw new Error("expected the database to tell its time, got no row");
  return row.now;
}
