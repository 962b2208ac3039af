import type { Queryable } from "@toolctrl/db/sql";
import { uuidv7 } from "uuidv7";
import type { RenderedMail } from "./render-mail.ts";

/** What a mail belongs to: one event, one epoch of its effect. */
export interface EmailIdentity {
  readonly eventId: string;
  readonly effectEpoch: number;
  readonly tenantId: string;
}

/** The Message-ID of a mail, without angle brackets. Every repeat of the same effect carries the same one. */
export function messageIdOf(mail: { eventId: string; effectEpoch: number }, domain: string): string {
  return `${mail.eventId}.${mail.effectEpoch}@${domain}`;
}

/**
 * Writes the mail and one pending delivery per recipient, in the caller's transaction. Does nothing when the mail of this event and
 * epoch is there: what was rendered first is what is sent.
 */
export async function insertEmail(tx: Queryable, identity: EmailIdentity, mail: RenderedMail, messageId: string): Promise<void> {
  await tx.query(
    `WITH message AS (
       INSERT INTO "EmailMessage" ("id", "eventId", "effectEpoch", "tenantId", "messageId", "fromAddress", "replyTo", "subject", "text", "html")
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       ON CONFLICT ("eventId", "effectEpoch") DO NOTHING
       RETURNING "id"
     )
     INSERT INTO "EmailDelivery" ("messageId", "recipient")
     SELECT message."id", recipient FROM message, unnest($11::text[]) AS recipient`,
    [
      uuidv7(),
      identity.eventId,
      identity.effectEpoch,
      identity.tenantId,
      messageId,
      mail.from,
      mail.replyTo,
      mail.subject,
      mail.text,
      mail.html,
      [...mail.to],
    ],
  );
}

/**
 * For a deliberate repeat: copies the newest mail of an earlier epoch into this one, with fresh deliveries. Does nothing when the mail of
 * this epoch is there, or none of an earlier one.
 */
export async function copyEmailToEpoch(tx: Queryable, identity: EmailIdentity, messageId: string): Promise<void> {
  await tx.query(
    `WITH source AS (
       SELECT * FROM "EmailMessage" WHERE "eventId" = $2 AND "tenantId" = $4 AND "effectEpoch" < $3 ORDER BY "effectEpoch" DESC LIMIT 1
     ), message AS (
       INSERT INTO "EmailMessage" ("id", "eventId", "effectEpoch", "tenantId", "messageId", "fromAddress", "replyTo", "subject", "text", "html")
       SELECT $1, "eventId", $3, "tenantId", $5, "fromAddress", "replyTo", "subject", "text", "html" FROM source
       ON CONFLICT ("eventId", "effectEpoch") DO NOTHING
       RETURNING "id"
     )
     INSERT INTO "EmailDelivery" ("messageId", "recipient")
     SELECT message."id", delivery."recipient"
     FROM message, source JOIN "EmailDelivery" delivery ON delivery."messageId" = source."id"`,
    [uuidv7(), identity.eventId, identity.effectEpoch, identity.tenantId, messageId],
  );
}
