import { transaction, type Database } from "@toolctrl/db/client";
import { PURGE_START, purgeDeletedPage, type PurgedTable, type PurgePlace } from "./purge-deleted-page.ts";
import { readOpenHorizon } from "./read-open-horizon.ts";

export interface PurgeSettings {
  /** A row of a deleted record is kept at least this long: a job may come again after its event is gone. */
  readonly retentionHours: number;
  /** Rows looked at by one transaction; clamped to 1..10000. */
  readonly batchSize: number;
}

export interface PurgeReport {
  readonly purged: number;
  /** Old ones that stay: an older upsert might come, or a transaction is open that is as old. */
  readonly kept: number;
}

/** Transactions of one run; what is left after them goes on the next day. */
const MAX_BATCHES = 200;

/** Removes what deleted records have left in a table, in bounded batches, where no older event can bring them back. */
export async function purgeDeletedRows(pool: Database["pool"], table: PurgedTable, settings: PurgeSettings): Promise<PurgeReport> {
  const limit = Math.min(Math.max(Math.trunc(settings.batchSize), 1), 10_000);
  let [purged, kept] = [0, 0];
  let after: PurgePlace = PURGE_START;
  const horizon = await readOpenHorizon(pool);
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const from = after;
    const page = await transaction(pool, (tx) =>
      purgeDeletedPage(tx, table, { olderThanHours: settings.retentionHours, limit, after: from, horizon }),
    );
    purged += page.purged;
    kept += page.looked - page.purged;
    if (page.last === null || page.looked < limit) break;
    after = page.last;
  }
  return { purged, kept };
}
