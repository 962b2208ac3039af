import { createMetrics } from "@toolctrl/runtime/metrics";
import { expect, test } from "vitest";
import { countRetention } from "../src/count-retention.ts";

test("a retention run is counted by table, and what it kept is the number of the last run", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const orphans = { OutboxReceipt: 2, OutboxIntent: 0, EmailMessage: 1 };
  countRetention(metrics, { deleted: 5, held: { "workflow.": 3, "mail.": 1 }, orphans, idempotencyKeys: 7, capped: false });
  countRetention(metrics, { deleted: 1, held: { "mail.": 1 }, orphans, idempotencyKeys: 0, capped: false }, { SearchDocument: 4 });
  const text = await metrics.text();
  expect(text).toContain('outbox_retention_deleted_total{source="OutboxEvent"} 6');
  expect(text).toContain('outbox_retention_deleted_total{source="OutboxReceipt"} 4');
  expect(text).toContain('outbox_retention_deleted_total{source="IdempotencyKey"} 7');
  expect(text).toContain('outbox_retention_deleted_total{source="SearchDocument"} 4');
  expect(text).toContain("outbox_retention_kept 1");
});
