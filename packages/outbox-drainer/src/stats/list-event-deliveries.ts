import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const deliveryRow = z.object({
  recipient: z.string(),
  effectEpoch: z.number(),
  state: z.string(),
  attempts: z.number(),
  replyCode: z.number().nullable(),
  reply: z.string().nullable(),
  updatedAt: z.date(),
});

/** What became of a mail at one recipient. */
export type EventDelivery = z.output<typeof deliveryRow>;

/** The recipients of an event's mails. Index: `EmailMessage_eventId_effectEpoch_key`. */
export async function listEventDeliveries(db: Queryable, eventId: string): Promise<EventDelivery[]> {
  const { rows } = await db.query(
    `SELECT d."recipient", m."effectEpoch", d."state", d."attempts", d."replyCode", d."reply", d."updatedAt"
       FROM "EmailMessage" m JOIN "EmailDelivery" d ON d."messageId" = m."id"
      WHERE m."eventId" = $1::uuid ORDER BY m."effectEpoch", d."recipient"`,
    [eventId],
  );
  return z.array(deliveryRow).parse(rows);
}
