import type { Queryable } from "@toolctrl/db/sql";
import type { EmailIdentity } from "./insert-email.ts";

export type DeliveryState = "pending" | "accepted" | "rejected" | "unknown";

/** A mail as it is stored, with how far each recipient is. */
export interface StoredEmail {
  readonly id: string;
  readonly messageId: string;
  readonly from: string;
  readonly replyTo: string | null;
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
  readonly createdAt: Date;
  /** In the order of their addresses. */
  readonly deliveries: ReadonlyArray<{ readonly recipient: string; readonly state: DeliveryState; readonly replyCode: number | null }>;
}

type Row = Omit<StoredEmail, "from"> & { fromAddress: string };

/** The mail of an event and epoch, or null. */
export async function loadEmail(db: Queryable, identity: EmailIdentity): Promise<StoredEmail | null> {
  const { rows } = await db.query<Row>(
    `SELECT message."id", message."messageId", message."fromAddress", message."replyTo", message."subject", message."text", message."html", message."createdAt",
            (SELECT coalesce(jsonb_agg(jsonb_build_object('recipient', "recipient", 'state', "state", 'replyCode', "replyCode") ORDER BY "recipient"), '[]')
             FROM "EmailDelivery" WHERE "messageId" = message."id") AS "deliveries"
     FROM "EmailMessage" message
     WHERE message."eventId" = $1 AND message."effectEpoch" = $2 AND message."tenantId" = $3`,
    [identity.eventId, identity.effectEpoch, identity.tenantId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { fromAddress, ...rest } = row;
  return { ...rest, from: fromAddress };
}
