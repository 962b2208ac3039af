import { randomUUID } from "node:crypto";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import type { Subject } from "@toolctrl/consumer-testkit/subject";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { expect } from "vitest";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.notification",
  type: "notification.message.create",
  payload: { recipientId: "u1", title: "Hello" },
};

/** An effect is a notification. */
export const notificationCreate: Subject = {
  name: "notification-create",
  queue: EVENT.queue,
  app: () => partOf("notification-create"),
  consumers: consumersOf,
  publish: () => Promise.resolve(randomUUID()),
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "Notification",
  async effects({ database }, eventId) {
    return (await database.pool.query(`SELECT 1 FROM "Notification" WHERE "eventId" = $1`, [eventId])).rowCount ?? 0;
  },
  async check({ database, tenantId }, eventId) {
    const { rows } = await database.pool.query(`SELECT "eventId", "title", "effectEpoch" FROM "Notification" WHERE "tenantId" = $1`, [
      tenantId,
    ]);
    expect(rows).toEqual([{ eventId, title: "Hello", effectEpoch: 0 }]);
  },
  /** Without its key the event has a notification more with each delivery. */
  removeProtection: (installation) => loseKey(installation, "Notification", "effectEpoch"),
};
