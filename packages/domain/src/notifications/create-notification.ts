import type { Queryable } from "@toolctrl/db/sql";
import type { NotificationMessage } from "./notification-for.ts";
import { uuidv7 } from "uuidv7";

export interface NewNotification extends NotificationMessage {
  readonly tenantId: string;
  readonly eventId: string;
  readonly effectEpoch: number;
  readonly eventType: string;
}

/** Writes the notification of an event and epoch. @returns its id, or null when it is there already. */
export async function createNotification(tx: Queryable, notification: NewNotification): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    `INSERT INTO "Notification" ("id", "tenantId", "eventId", "effectEpoch", "eventType", "recipientId", "title", "body")
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT ("eventId", "effectEpoch") DO NOTHING RETURNING "id"`,
    [
      uuidv7(),
      notification.tenantId,
      notification.eventId,
      notification.effectEpoch,
      notification.eventType,
      notification.recipientId,
      notification.title,
      notification.body,
    ],
  );
  return rows[0]?.id ?? null;
}
