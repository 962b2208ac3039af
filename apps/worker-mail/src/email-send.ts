import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { beginIntent, type Intent } from "@toolctrl/consumer/intents";
import type { Database } from "@toolctrl/db/client";
import type { StoredEmail } from "@toolctrl/domain/emails";
import type { JobOutcome } from "@toolctrl/queue/port";
import { abortAfter } from "@toolctrl/runtime/deadline";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { uuidv7 } from "uuidv7";
import { prepareEmail } from "./email-send/prepare-email.ts";
import { settleNothingLeft, settleTry } from "./email-send/settle-try.ts";
import { EMAIL_SEND } from "./mail-render.ts";
import { composeMail } from "./smtp/compose-mail.ts";
import { sendMail, type SmtpServer } from "./smtp/send-mail.ts";

export interface EmailSendDeps {
  readonly pool: Database["pool"];
  readonly server: SmtpServer;
  readonly concurrency: number;
  /** The one limit on a whole try, ms; shorter than a claim's life, so that a claim found expired has no running try behind it. */
  readonly sendDeadlineMs: number;
  readonly messageIdDomain: string;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/**
 * Sends the mail of an event by SMTP to every recipient who has not been settled yet.
 *
 * 4xx: tried again with the queue's backoff. 5xx: permanent, the job is dead when nobody is left to try. Answer lost after the whole
 * message was handed over: recorded as `unknown`, sent again with the same Message-ID. `sent` is final.
 */
export function createEmailSend(deps: EmailSendDeps): NamedConsumer<typeof EMAIL_SEND> {
  return {
    name: EMAIL_SEND,
    queue: "toolctrl.email",
    concurrency: deps.concurrency,
    needsPayload: false,
    async handle(delivery) {
      const prepared = await prepareEmail(delivery, deps);
      if (prepared.kind === "ended") return prepared.outcome;
      return tryToSend(delivery, prepared.email, prepared.intent, deps);
    },
  };
}

async function tryToSend(delivery: Delivery, email: StoredEmail, intent: Intent, deps: EmailSendDeps): Promise<JobOutcome> {
  const to = email.deliveries.filter(({ state }) => state === "pending" || state === "unknown").map(({ recipient }) => recipient);
  if (to.length === 0) return settleNothingLeft(email, intent, deps);
  const raw = await composeMail(email);
  const token = uuidv7();
  const deadline = abortAfter(deps.sendDeadlineMs, delivery.signal);
  let begun = false;
  try {
    const beforeSend = async (): Promise<void> => {
      await beginIntent(deps.pool, intent.id, token);
      begun = true;
    };
    const outcome = await sendMail(deps.server, { from: email.from, to, raw }, { signal: deadline.signal, beforeSend });
    return await settleTry({ email, intent, token, begun }, outcome, deps);
  } finally {
    deadline.clear();
  }
}
