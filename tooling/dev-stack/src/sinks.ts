import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { startSmtpPeer } from "@toolctrl/testkit/smtp";
import { DEAD_MAILBOX } from "./traffic.ts";

/** What the world received: the text in which its key stands, and its Message-ID or webhook-id. */
export interface Received {
  readonly text: string;
  readonly id: string;
}

export interface Sinks {
  readonly smtpPort: number;
  readonly webhookUrl: string;
  mails(): Received[];
  webhooks(): Received[];
  close(graceMs: number): Promise<void>;
}

/** Starts the SMTP catcher, which refuses one mailbox for good, and the webhook sink, which accepts everything. */
export async function startSinks(): Promise<Sinks> {
  const smtp = await startSmtpPeer({ behaviour: { kind: "reject", codes: { [DEAD_MAILBOX]: 550 } } });
  const http = await startHttpPeer();
  return {
    smtpPort: smtp.port,
    webhookUrl: `http://127.0.0.1:${http.port}/webhooks`,
    mails: () => smtp.mails.map((mail) => ({ text: mail.headers["subject"] ?? "", id: mail.messageId })),
    webhooks: () =>
      http.requests.map((request) => ({ text: request.body.toString("utf8"), id: String(request.headers["webhook-id"] ?? "") })),
    async close() {
      await smtp.close();
      await http.close();
    },
  };
}
