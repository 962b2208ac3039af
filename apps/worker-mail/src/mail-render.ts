import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { insertIntent } from "@toolctrl/consumer/intents";
import { createReceiptAuthority } from "@toolctrl/db/receipts";
import { transaction, type Database } from "@toolctrl/db/client";
import { insertEmail, messageIdOf, renderMail } from "@toolctrl/domain/emails";
import type { QueueBackend } from "@toolctrl/queue/port";
import { addEmailJob } from "./email-job.ts";

export interface MailRenderDeps {
  readonly pool: Database["pool"];
  readonly backend: Pick<QueueBackend, "addAll">;
  readonly concurrency: number;
  /** Sender of mails that name none. */
  readonly defaultFrom: string;
  readonly messageIdDomain: string;
}

export const MAIL_RENDER = "mail-render";
export const EMAIL_SEND = "email-send";

/**
 * Renders the mail of an event, writes it with its deliveries, its intent and this consumer's receipt in one transaction, then hands the
 * event on to `email-send`. A crash between the two is mended by the next delivery: it finds the receipt and only hands on.
 */
export function createMailRender(deps: MailRenderDeps): NamedConsumer<typeof MAIL_RENDER> {
  return {
    name: MAIL_RENDER,
    queue: "outbox.mail",
    concurrency: deps.concurrency,
    async handle(delivery) {
      const messageId = await writeMail(delivery, deps);
      await addEmailJob(deps.backend, delivery.envelope);
      return { kind: "done", result: { messageId } };
    },
    async passOn(delivery) {
      await addEmailJob(deps.backend, delivery.envelope);
    },
  };
}

async function writeMail(delivery: Delivery, deps: MailRenderDeps): Promise<string> {
  const { eventId, tenantId, effectEpoch } = delivery;
  const mail = renderMail(delivery.payload, { defaultFrom: deps.defaultFrom });
  const messageId = messageIdOf({ eventId, effectEpoch }, deps.messageIdDomain);
  await transaction(deps.pool, async (tx) => {
    await insertEmail(tx, { eventId, tenantId, effectEpoch }, mail, messageId);
    // Rendering anew repeats no mail by itself; sending anew has its own epoch and makes its own intent.
    if (effectEpoch === 0) await insertIntent(tx, { eventId, tenantId, consumer: EMAIL_SEND, target: "", effectEpoch }, messageId);
    await createReceiptAuthority(tx, { tenantId, consumer: MAIL_RENDER, effectEpoch }).record(eventId, { messageId });
  });
  return messageId;
}
