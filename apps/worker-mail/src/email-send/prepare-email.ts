import type { Delivery } from "@toolctrl/consumer/define";
import { abandonIntent, insertIntent, listIntents, reopenRequeued, type Intent } from "@toolctrl/consumer/intents";
import { transaction } from "@toolctrl/db/client";
import {
  copyEmailToEpoch,
  loadEmail,
  markDeliveriesUnknown,
  messageIdOf,
  reopenRejectedDeliveries,
  type StoredEmail,
} from "@toolctrl/domain/emails";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { EmailSendDeps } from "../email-send.ts";
import { EMAIL_SEND } from "../mail-render.ts";

export type PreparedEmail =
  | { readonly kind: "ready"; readonly email: StoredEmail; readonly intent: Intent }
  | { readonly kind: "ended"; readonly outcome: JobOutcome };

/** Finds the mail and its intent, and settles what an earlier delivery left behind. */
export async function prepareEmail(delivery: Delivery, deps: EmailSendDeps): Promise<PreparedEmail> {
  const { intent, email } = await load(delivery, deps);
  switch (intent.state) {
    case "sent":
      return { kind: "ended", outcome: { kind: "done", result: { messageId: email.messageId } } };
    case "sending":
      return takeOver(delivery, email, intent, deps);
    case "failed":
      return reopen(delivery, email, intent, deps);
    default:
      return { kind: "ready", email, intent };
  }
}

async function load(delivery: Delivery, deps: EmailSendDeps): Promise<{ email: StoredEmail; intent: Intent }> {
  const { eventId, tenantId, effectEpoch } = delivery;
  const key = { eventId, tenantId, effectEpoch };
  const messageId = messageIdOf(key, deps.messageIdDomain);
  let email = await loadEmail(deps.pool, key);
  if (email === null && effectEpoch > 0) {
    await copyEmailToEpoch(deps.pool, key, messageId);
    email = await loadEmail(deps.pool, key);
  }
  if (email === null) {
    throw new CodedError("RECEIVER.EVENT_GONE", `expected event ${eventId} to have a rendered mail, got none`, {
      facts: { eventId, effectEpoch },
    });
  }
  await insertIntent(deps.pool, { ...key, consumer: EMAIL_SEND, target: "" }, email.messageId);
  const [intent] = await listIntents(deps.pool, { ...key, consumer: EMAIL_SEND });
  if (intent === undefined)
    throw new CodedError("RECEIVER.EVENT_GONE", `expected event ${eventId} to have an intent, got none`, { facts: { eventId } });
  return { email, intent };
}

/** We hold the claim, so the delivery that was sending is gone, or cut off from the store and bound to end within its deadline. */
async function takeOver(delivery: Delivery, email: StoredEmail, intent: Intent, deps: EmailSendDeps): Promise<PreparedEmail> {
  const abandoned = await transaction(deps.pool, async (tx) => {
    const moved = await abandonIntent(tx, intent.id, deps.sendDeadlineMs, "MAIL.OUTCOME_UNKNOWN");
    if (moved) await markDeliveriesUnknown(tx, email.id);
    return moved;
  });
  if (!abandoned) {
    const leftMs = Math.max(0, deps.sendDeadlineMs - (intent.sendingForMs ?? 0));
    return { kind: "ended", outcome: { kind: "snooze", untilMs: Date.now() + leftMs + 100 } };
  }
  deps.metrics.add("outbox_outcome_unknown_total", 1, { consumer: EMAIL_SEND });
  deps.log.warn(
    { eventId: delivery.eventId, messageId: email.messageId },
    "a send was cut short; its outcome is unknown, the mail is sent again",
  );
  return ready(delivery, deps);
}

/** A mail that was refused for good is sent again when its event was requeued since; the same job again only hears why it is dead. */
async function reopen(delivery: Delivery, email: StoredEmail, intent: Intent, deps: EmailSendDeps): Promise<PreparedEmail> {
  const reopened = await transaction(deps.pool, async (tx) => {
    const requeued = await reopenRequeued(tx, delivery, EMAIL_SEND, [intent], deps.log);
    if (requeued) await reopenRejectedDeliveries(tx, email.id);
    return requeued;
  });
  if (reopened) return ready(delivery, deps);
  const error = new CodedError("MAIL.REJECTED", intent.lastError ?? "expected every recipient to be accepted, some were refused");
  return { kind: "ended", outcome: { kind: "cancel", error } };
}

async function ready(delivery: Delivery, deps: EmailSendDeps): Promise<PreparedEmail> {
  return { kind: "ready", ...(await load(delivery, deps)) };
}
