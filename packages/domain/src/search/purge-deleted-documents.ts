import type { Database } from "@toolctrl/db/client";
import { purgeDeletedRows, type PurgeReport, type PurgeSettings } from "../purge/purge-deleted-rows.ts";

/** Removes what deleted records have left in the search. */
export function purgeDeletedDocuments(pool: Database["pool"], settings: PurgeSettings): Promise<PurgeReport> {
  return purgeDeletedRows(pool, { table: "SearchDocument", upsert: "search.index.upsert" }, settings);
}
