import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { readLateEvents as read, readLateEventsWithoutLines, type LateEvents } from "./sql/blocked-lines.ts";

/** What should have been taken by now, and waits for no blocked record. For a sampler. */
export async function readLateEvents(db: Queryable): Promise<LateEvents> {
  const { column } = await recordKeyReady(db);
  return column ? read(db) : readLateEventsWithoutLines(db);
}
