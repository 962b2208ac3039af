import type { Database } from "@toolctrl/db/client";
import type { ReceiptAuthority } from "@toolctrl/outbox-receiver/store";
import type { ReceiptScope } from "@toolctrl/db/receipts";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { KeyValueStore } from "@toolctrl/shared-store/key-value";
import type { OutagePause } from "./outage-pause.ts";

/** What every consumer of a process runs with. */
export interface ConsumerContext {
  /** Its prefix is that of the idempotency keys too: all keys of an installation carry the same. */
  readonly backend: QueueBackend;
  readonly pool: Database["pool"];
  readonly store: KeyValueStore;
  /** The receipts of this process, which share statements. */
  readonly receipts: (scope: ReceiptScope) => ReceiptAuthority;
  readonly outagePause: OutagePause;
  /** Life of a cached result, seconds, and of an unrenewed claim, ms. */
  readonly receiver: { readonly ttlSeconds: number; readonly claimTtlMs: number };
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly alerts: Alerts;
}
