import type { QUEUES, QueueGroup, QueueName } from "./queues.ts";

/** Every consumer of the product, and where it works: the queue it reads, or `database` for an after-save effect, which runs in the drainer's attempt. */
export const CONSUMERS = {
  "mail-render": "outbox.mail",
  "email-send": "toolctrl.email",
  "webhook-deliver": "outbox.webhook",
  "marketing-sync": "outbox.marketing",
  "notification-create": "outbox.notification",
  "audit-append": "outbox.audit",
  "search-index": "outbox.search-index",
  "rag-index": "outbox.rag-index",
  "ai-cost-record": "outbox.ai-cost",
  "form-route": "outbox.form-submission-route",
  "plugin-fanout": "outbox.plugin-hook",
  "plugin-invoke": "toolctrl.plugin-invoke",
  "plugin-capability-count": "outbox.plugin-capability-use",
  "workflow-trigger": "outbox.workflow",
  "field-sets": "database",
  "opportunity-create": "database",
} as const satisfies Record<string, QueueName | "database">;

export type ConsumerName = keyof typeof CONSUMERS;
export const CONSUMER_NAMES = Object.keys(CONSUMERS) as ConsumerName[];

type QueuesOf<Group extends QueueGroup> = { [Q in QueueName]: (typeof QUEUES)[Q] extends Group ? Q : never }[QueueName];

/** The consumers that are after-save effects. */
export type EffectName = { [N in ConsumerName]: (typeof CONSUMERS)[N] extends "database" ? N : never }[ConsumerName];

/** The consumers that the worker app of a group has to run. */
export type ConsumerOf<Group extends QueueGroup> = {
  [N in ConsumerName]: (typeof CONSUMERS)[N] extends QueuesOf<Group> ? N : never;
}[ConsumerName];
