import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { readDueEvents as read, readDueEventsWithoutLines, type DueEvents } from "./sql/blocked-lines.ts";

/** The due events, and what of them should have been taken by now: what waits for no blocked record, and in batch mode everything. For a sampler. */
export async function readDueEvents(db: Queryable): Promise<DueEvents> {
  const { column } = await recordKeyReady(db);
  return column ? read(db) : readDueEventsWithoutLines(db);
}
