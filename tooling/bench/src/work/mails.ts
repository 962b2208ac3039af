import { randomBytes } from "node:crypto";
import { startSmtpPeer } from "@toolctrl/testkit/smtp";
import { mailJobs } from "../jobs.ts";
import type { Work } from "./work.ts";

const CONCURRENCY = 10;
/** A mail server that is asked for a delivery takes about so long. */
const REPLY_MS = 200;

/** Mails to a server that takes its time: a handler that waits for somebody else. */
export async function openMails(): Promise<Work> {
  const smtp = await startSmtpPeer({ behaviour: { kind: "slow", ms: REPLY_MS } });
  let taken = 0;
  return {
    app: "worker-mail",
    title: "mails",
    about: { "ms of the server for each": REPLY_MS, MAIL_SEND_CONCURRENCY: CONCURRENCY },
    settings: {
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      MAIL_FROM: "noreply@example.com",
      MAIL_SEND_CONCURRENCY: String(CONCURRENCY),
      WEBHOOK_SECRETS_KEY: randomBytes(32).toString("base64"),
    },
    consumer: "email-send",
    tables: ["EmailMessage", "EmailDelivery", "OutboxIntent"],
    jobs: mailJobs,
    takeEffects() {
      const before = taken;
      taken = smtp.mails.length;
      return Promise.resolve(taken - before);
    },
    close: () => smtp.close(),
  };
}
