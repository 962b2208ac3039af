import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import type { BlockCause } from "./block-cause.ts";
import { countBlockedLines as count } from "./sql/blocked-lines.ts";

/** How many lines are blocked, by cause, 1000 of each at most; none on a table without record keys. For a sampler. */
export async function countBlockedLines(db: Queryable): Promise<Record<BlockCause, number>> {
  const { column } = await recordKeyReady(db);
  return column ? count(db) : { parked: 0, held: 0, backoff: 0, "in-flight": 0 };
}
