import type { Database } from "@toolctrl/db/client";
import { purgeDeletedRows, type PurgeReport, type PurgeSettings } from "../purge/purge-deleted-rows.ts";

/** Removes what deleted records have left in retrieval. */
export function purgeDeletedRagDocuments(pool: Database["pool"], settings: PurgeSettings): Promise<PurgeReport> {
  return purgeDeletedRows(pool, { table: "RagDocument", upsert: "rag.index.upsert" }, settings);
}
