import type { Queryable } from "@toolctrl/db/sql";
import { storableText } from "@toolctrl/foundation/text";
import type { DeliveryState } from "./load-email.ts";

/** How one try ended for one recipient. `pending` is a refusal that may pass. */
export interface RecipientOutcome {
  readonly recipient: string;
  readonly state: DeliveryState;
  readonly replyCode: number | null;
  readonly reply: string | null;
}

/**
 * Writes the outcomes of one try. `accepted` is final: what another try learnt later, or earlier, does not change it.
 * @param emailId the row's id, not the Message-ID.
 */
export async function recordDeliveries(tx: Queryable, emailId: string, outcomes: readonly RecipientOutcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  await tx.query(
    `UPDATE "EmailDelivery" delivery
     SET "state" = outcome."state", "attempts" = delivery."attempts" + 1, "replyCode" = outcome."replyCode", "reply" = outcome."reply", "updatedAt" = clock_timestamp()
     FROM unnest($2::text[], $3::text[], $4::int[], $5::text[]) AS outcome("recipient", "state", "replyCode", "reply")
     WHERE delivery."messageId" = $1 AND delivery."recipient" = outcome."recipient" AND delivery."state" <> 'accepted'`,
    [
      emailId,
      outcomes.map((outcome) => outcome.recipient),
      outcomes.map((outcome) => outcome.state),
      outcomes.map((outcome) => outcome.replyCode),
      outcomes.map(({ reply }) => (reply === null ? null : storableText(reply, 500))),
    ],
  );
}

/** Marks every unsettled recipient `unknown`: the process ended between the call and its answer. */
export async function markDeliveriesUnknown(tx: Queryable, emailId: string): Promise<void> {
  await tx.query(
    `UPDATE "EmailDelivery" SET "state" = 'unknown', "updatedAt" = clock_timestamp() WHERE "messageId" = $1 AND "state" = 'pending'`,
    [emailId],
  );
}

/** Gives rejected recipients another chance, after an operator asked for it. */
export async function reopenRejectedDeliveries(tx: Queryable, emailId: string): Promise<void> {
  await tx.query(
    `UPDATE "EmailDelivery" SET "state" = 'pending', "updatedAt" = clock_timestamp() WHERE "messageId" = $1 AND "state" = 'rejected'`,
    [emailId],
  );
}
