import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const intentRow = z.object({
  consumer: z.string(),
  target: z.string(),
  effectEpoch: z.number(),
  state: z.string(),
  externalId: z.string(),
  attempts: z.number(),
  unknowns: z.number(),
  notBefore: z.date().nullable(),
  lastErrorCode: z.string().nullable(),
  lastError: z.string().nullable(),
  sendingSince: z.date().nullable(),
  sentAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});

/** One irreversible outside call. `externalId` is the Message-ID or webhook-id the other side saw. */
export type EventIntent = z.output<typeof intentRow>;

/** The outside calls of an event, in order of time. Index: `OutboxIntent_effect_key`. */
export async function listEventIntents(db: Queryable, eventId: string): Promise<EventIntent[]> {
  const { rows } = await db.query(
    `SELECT "consumer", "target", "effectEpoch", "state", "externalId", "attempts", "unknowns", "notBefore", "lastErrorCode", "lastError",
            "sendingSince", "sentAt", "createdAt", "updatedAt"
       FROM "OutboxIntent" WHERE "eventId" = $1::uuid ORDER BY "createdAt", "consumer", "target", "effectEpoch"`,
    [eventId],
  );
  return z.array(intentRow).parse(rows);
}
