import type { RetentionReport } from "@toolctrl/outbox-drainer/retention";
import type { Metrics } from "@toolctrl/runtime/metrics";

/** Puts a retention run into numbers: rows deleted by table, `others` beside the outbox's own, and the DONE events it had to keep. */
export function countRetention(metrics: Metrics, report: RetentionReport, others: Readonly<Record<string, number>> = {}): void {
  const deleted = { OutboxEvent: report.deleted, ...report.orphans, IdempotencyKey: report.idempotencyKeys, ...others };
  for (const [source, rows] of Object.entries(deleted)) metrics.add("outbox_retention_deleted_total", rows, { source });
  metrics.set(
    "outbox_retention_kept",
    Object.values(report.held).reduce((sum, events) => sum + events, 0),
  );
}
