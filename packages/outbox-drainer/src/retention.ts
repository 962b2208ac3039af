import { transaction } from "@toolctrl/db/client";
import type { RouteRule } from "@toolctrl/event-router/router";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Pool } from "pg";
import { deleteExpiredKeys } from "./sql/delete-expired-keys.ts";
import { deleteOrphans, ORPHAN_TABLES, type OrphanTable } from "./sql/delete-orphans.ts";
import { purgeDoneEvents, START_OF_TIME, type PurgePage } from "./sql/purge-done-events.ts";

export { lookAtOldEvents, type OldEvents } from "./sql/look-at-old-events.ts";

export interface RetentionSettings {
  /** A DONE event is kept at least this long after its hand-off. */
  readonly retentionHours: number;
  /** Rows looked at by one transaction; clamped to 1..10000. */
  readonly batchSize: number;
}

export interface RetentionReport {
  readonly deleted: number;
  /** Old DONE events kept because a receipt is missing, by event-type prefix. */
  readonly held: Readonly<Record<string, number>>;
  readonly orphans: Readonly<Record<OrphanTable, number>>;
  readonly idempotencyKeys: number;
  /** Whether the run stopped at its cap with more to do. */
  readonly capped: boolean;
}

/** Transactions of one kind in one run. A first run over a large history goes on the next day; dispatching goes on meanwhile. */
const MAX_BATCHES = 200;

/**
 * Deletes what can no longer decide anything: DONE events that are old enough and have every receipt their route expects, receipts,
 * intents and mails whose event is gone, and idempotency keys that ran out. FAILED and CANCELLED events stay.
 */
export async function runRetention(
  pool: Pool,
  routes: readonly RouteRule[],
  settings: RetentionSettings,
  log: Logger,
): Promise<RetentionReport> {
  const limit = Math.min(Math.max(Math.trunc(settings.batchSize), 1), 10_000);
  const events = await purgeEvents(pool, routes, settings.retentionHours, limit);
  const orphans = { OutboxReceipt: 0, OutboxIntent: 0, EmailMessage: 0 };
  for (const table of ORPHAN_TABLES) {
    orphans[table] = await repeat(limit, () => deleteOrphans(pool, table, settings.retentionHours, limit));
  }
  const idempotencyKeys = await repeat(limit, () => deleteExpiredKeys(pool, limit));
  const report = { ...events, orphans, idempotencyKeys };
  log.info(report, "retention has run");
  return report;
}

async function purgeEvents(pool: Pool, routes: readonly RouteRule[], retentionHours: number, limit: number) {
  let deleted = 0;
  const held: Record<string, number> = {};
  let after = START_OF_TIME;
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const page: PurgePage = await transaction(pool, (tx) => purgeDoneEvents(tx, { routes, retentionHours, limit, after }));
    deleted += page.deleted;
    for (const [prefix, count] of Object.entries(page.held)) held[prefix] = (held[prefix] ?? 0) + count;
    if (page.next === null) return { deleted, held, capped: false };
    after = page.next;
  }
  return { deleted, held, capped: true };
}

async function repeat(limit: number, deleteBatch: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const count = await deleteBatch();
    total += count;
    if (count < limit) break;
  }
  return total;
}
