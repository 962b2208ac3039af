import type { Queryable } from "@toolctrl/db/sql";
import type { RouteRule } from "@toolctrl/event-router/router";
import { z } from "zod";
import { listUnfinished } from "../reconcile/sql/list-unfinished.ts";
import { START_OF_TIME, type Cursor } from "../sql/purge-done-events.ts";

const PAGE = 1000;
/** Of one reading: what is kept for a month is walked over in several of them once, and from then on only what is new. */
const PAGES = 20;
/** A settlement may commit a moment after the time that it wrote; what is younger is on its way. */
const YOUNG_MS = 10_000;

/** How long ago (s) the oldest event was handed off that nobody has finished, 0 for none; null while the walk has not come to it. */
export type ReadReceiptLag = () => Promise<number | null>;

/**
 * Makes a reading that asks of each handed-off event until it is finished, and then no more: it goes through them in order of hand-off and
 * stands still at the first one that a consumer of its route owes a receipt. A consumer that gave up owes none.
 */
export function createReceiptLag(db: Queryable, routes: readonly RouteRule[]): ReadReceiptLag {
  let after: Cursor = START_OF_TIME;
  return async () => {
    for (let page = 0; page < PAGES; page += 1) {
      const { events, looked, next } = await listUnfinished(db, routes, { after, limit: PAGE, olderThanMs: YOUNG_MS, since: null });
      const [oldest] = events;
      if (oldest !== undefined) return readAge(db, oldest.processedAt);
      after = next ?? after;
      if (looked < PAGE) return 0;
    }
    return null;
  };
}

/** By the database's clock. */
async function readAge(db: Queryable, since: Date): Promise<number> {
  const { rows } = await db.query(`SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8 AS "seconds"`, [
    since.toISOString(),
  ]);
  return z.object({ seconds: z.number() }).parse(rows[0]).seconds;
}
