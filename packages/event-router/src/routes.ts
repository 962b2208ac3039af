import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { QueueName } from "@toolctrl/foundation/queues";

/** Where events of a prefix go. `consumers` are those whose receipts together say that the event had all its effects. */
export type RouteRule = {
  readonly prefix: string;
  /** What the younger events of a record do when the one before them is FAILED: go on (default), or wait for an operator. */
  readonly deadHead?: "continue" | "park";
} & (
  | { readonly target: "queue"; readonly queue: QueueName; readonly consumers: readonly string[] }
  | { readonly target: "database"; readonly consumers: readonly string[] }
);

/** The product's routing table. A prefix ends in a dot; the longest one that matches wins. */
export const ROUTES: ReadonlyArray<RouteRule & { readonly consumers: readonly ConsumerName[] }> = [
  { prefix: "tenant.subscription.", target: "queue", queue: "outbox.notification", consumers: ["notification-create"] },
  { prefix: "mail.", target: "queue", queue: "outbox.mail", consumers: ["mail-render", "email-send"] },
  { prefix: "webhook.", target: "queue", queue: "outbox.webhook", consumers: ["webhook-deliver"] },
  { prefix: "notification.", target: "queue", queue: "outbox.notification", consumers: ["notification-create"] },
  { prefix: "audit.", target: "queue", queue: "outbox.audit", consumers: ["audit-append"] },
  { prefix: "workflow.", target: "queue", queue: "outbox.workflow", consumers: ["workflow-trigger"] },
  { prefix: "search.index.", target: "queue", queue: "outbox.search-index", consumers: ["search-index"] },
  { prefix: "rag.index.", target: "queue", queue: "outbox.rag-index", consumers: ["rag-index"] },
  { prefix: "ai.cost.", target: "queue", queue: "outbox.ai-cost", consumers: ["ai-cost-record"] },
  { prefix: "marketing.lead.", target: "queue", queue: "outbox.marketing", consumers: ["marketing-sync"] },
  { prefix: "form.submission.", target: "queue", queue: "outbox.form-submission-route", consumers: ["form-route"] },
  { prefix: "billing.", target: "queue", queue: "outbox.notification", consumers: ["notification-create"] },
  { prefix: "plugin.hook.", target: "queue", queue: "outbox.plugin-hook", consumers: ["plugin-fanout", "plugin-invoke"] },
  { prefix: "plugin.capability-use.", target: "queue", queue: "outbox.plugin-capability-use", consumers: ["plugin-capability-count"] },
  { prefix: "record.", target: "database", consumers: [] },
];
