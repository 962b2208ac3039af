import type { Consumer } from "@toolctrl/consumer/define";
import type { App } from "@toolctrl/consumer-testkit/app-process";
import type { HandedOff } from "@toolctrl/consumer-testkit/installation";
import type { Database } from "@toolctrl/db/client";
import { createAuditConsumer } from "../src/consumers/create-audit-consumer.ts";
import { createNotificationConsumer } from "../src/consumers/create-notification-consumer.ts";

export const QUEUE_OF = { "notification-create": "outbox.notification", "audit-append": "outbox.audit" } as const;
export type ConsumerName = keyof typeof QUEUE_OF;

/** An event for each consumer. */
export const EVENTS: Record<ConsumerName, HandedOff> = {
  "notification-create": {
    queue: "outbox.notification",
    type: "notification.message.create",
    payload: { recipientId: "u1", title: "Hello" },
  },
  "audit-append": {
    queue: "outbox.audit",
    type: "audit.entry.record",
    payload: { actor: "ann", action: "lead.update", object: "Lead", recordId: "1" },
  },
};

/** One consumer of the app in a process of its own. */
export function partOf(consumer: ConsumerName): App {
  return { main: new URL("./one-consumer.ts", import.meta.url), queues: [QUEUE_OF[consumer]], env: { CONSUMER: consumer } };
}

/** The maintenance of the app in a process of its own. */
export const MAINTENANCE: App = {
  main: new URL("./maintenance.ts", import.meta.url),
  queues: ["toolctrl.maintenance"],
  // Small batches: what a crash could leave half done lies between two of them.
  env: { OUTBOX_DONE_RETENTION_BATCH_SIZE: "2" },
};

/** The app's consumers, made as its main file makes them. */
export function consumersOf({ database }: { database: Database }): Consumer[] {
  const { pool } = database;
  return [createNotificationConsumer({ pool }), createAuditConsumer({ pool })];
}
