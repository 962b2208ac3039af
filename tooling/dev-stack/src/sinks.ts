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
  /** Where all HTTP sinks listen: `127.0.0.1:<port>`. */
  readonly httpHost: string;
  readonly webhookUrl: string;
  readonly pluginUrl: string;
  readonly marketingUrl: string;
  /** The shop that a sample workflow tells of purchases. It answers 503 to the first try of each. */
  readonly shopUrl: string;
  mails(): Received[];
  webhooks(): Received[];
  plugins(): Received[];
  /** What the marketing provider was told, by Idempotency-Key. */
  contacts(): Received[];
  close(graceMs: number): Promise<void>;
}

/** Starts the SMTP catcher, which refuses one mailbox for good, and the sink of webhooks, plugins and marketing, which accepts everything. */
export async function startSinks(): Promise<Sinks> {
  const smtp = await startSmtpPeer({ behaviour: { kind: "reject", codes: { [DEAD_MAILBOX]: 550 } } });
  const http = await startHttpPeer();
  const told = new Set<string>();
  http.respond(({ path }) => {
    if (!path.startsWith("/shop/") || told.has(path)) return { status: 200 };
    told.add(path);
    return { status: 503 };
  });
  const httpHost = `127.0.0.1:${http.port}`;
  const received = (path: string, idHeader: string): Received[] =>
    http.requests
      .filter((request) => request.path.startsWith(path))
      .map((request) => ({ text: request.body.toString("utf8"), id: String(request.headers[idHeader] ?? "") }));
  return {
    smtpPort: smtp.port,
    httpHost,
    webhookUrl: `http://${httpHost}/webhooks`,
    pluginUrl: `http://${httpHost}/plugins`,
    marketingUrl: `http://${httpHost}/marketing`,
    shopUrl: `http://${httpHost}/shop`,
    mails: () => smtp.mails.map((mail) => ({ text: mail.headers["subject"] ?? "", id: mail.messageId })),
    webhooks: () => received("/webhooks", "webhook-id"),
    plugins: () => received("/plugins", "webhook-id"),
    contacts: () => received("/marketing", "idempotency-key"),
    async close() {
      await smtp.close();
      await http.close();
    },
  };
}
