import type { Consumer } from "@toolctrl/consumer/define";
import { transaction, type Database } from "@toolctrl/db/client";
import { createNotification, notificationFor } from "@toolctrl/domain/notifications";
import { snoozeOnLockTimeout } from "./snooze-on-lock-timeout.ts";
import { withReceipt } from "./with-receipt.ts";

const NAME = "notification-create";

/** Turns events of `outbox.notification` into in-app notification rows; the receipt is in the row's transaction. */
export function createNotificationConsumer(deps: { pool: Database["pool"] }): Consumer {
  return {
    name: NAME,
    queue: "outbox.notification",
    concurrency: 10,
    handle: (delivery) =>
      snoozeOnLockTimeout(async () => {
        const message = notificationFor(delivery);
        await transaction(deps.pool, (tx) =>
          withReceipt(tx, NAME, delivery, () => createNotification(tx, { ...delivery, ...message, eventType: delivery.type })),
        );
        return { kind: "done" };
      }),
  };
}
