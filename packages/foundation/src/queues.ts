/** Which worker app serves a queue. */
export const QUEUE_GROUPS = ["general", "mail"] as const;
export type QueueGroup = (typeof QUEUE_GROUPS)[number];

/** Every BullMQ queue of the product and the worker app that serves it. */
export const QUEUES = {
  "outbox.mail": "mail",
  "outbox.webhook": "mail",
  "outbox.marketing": "mail",
  "toolctrl.email": "mail",
  "outbox.notification": "general",
  "outbox.audit": "general",
  "outbox.workflow": "general",
  "outbox.search-index": "general",
  "outbox.rag-index": "general",
  "outbox.ai-cost": "general",
  "outbox.form-submission-route": "general",
  "outbox.plugin-hook": "general",
  "outbox.plugin-capability-use": "general",
  "toolctrl.plugin-invoke": "general",
  "toolctrl.maintenance": "general",
} as const satisfies Record<string, QueueGroup>;

export type QueueName = keyof typeof QUEUES;
export const QUEUE_NAMES = Object.keys(QUEUES) as QueueName[];
