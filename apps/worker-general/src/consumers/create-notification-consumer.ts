import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { createNotification, notificationFor } from "@toolctrl/domain/notifications";

const NAME = "notification-create";

/** Turns events of `outbox.notification` into in-app notification rows; the receipt is in the row's transaction. */
export function createNotificationConsumer(deps: { pool: Database["pool"] }): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.notification",
    concurrency: 10,
    async handle(delivery) {
      const message = notificationFor(delivery);
      return databaseEffect(deps.pool, NAME, delivery, async (tx) => {
        await createNotification(tx, { ...delivery, ...message, eventType: delivery.type });
      });
    },
  };
}
