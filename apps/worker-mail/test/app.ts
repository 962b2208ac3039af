import { randomUUID } from "node:crypto";
import type { Consumer } from "@toolctrl/consumer/define";
import type { App } from "@toolctrl/consumer-testkit/app-process";
import { envelopeOf, type HandedOff, type Installation } from "@toolctrl/consumer-testkit/installation";
import { createWebhookEndpoint } from "@toolctrl/domain/webhook-endpoints";
import type { QueueBackend } from "@toolctrl/queue/port";
import { openHttp } from "@toolctrl/worker/resources";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { SECRETS_KEY } from "./harness.ts";

export const MAIL: HandedOff = {
  queue: "outbox.mail",
  type: "mail.message.send",
  payload: { to: ["ann@example.test", "bob@example.test"], subject: "Hi", text: "Hello" },
};
export const WEBHOOK: HandedOff = { queue: "outbox.webhook", type: "webhook.invoice.paid", payload: { invoice: 7 } };

export const MARKETING: HandedOff = {
  queue: "outbox.marketing",
  type: "marketing.lead.upsert",
  payload: { email: "ann@example.test", name: "Ann", attributes: { plan: "pro" }, consent: "granted", consentSource: "signup form" },
};

export const QUEUE_OF = {
  "mail-render": "outbox.mail",
  "email-send": "toolctrl.email",
  "webhook-deliver": "outbox.webhook",
  "marketing-sync": "outbox.marketing",
} as const;
export type ConsumerName = keyof typeof QUEUE_OF;

export interface Peers {
  readonly smtp: { readonly port: number };
  readonly http: { readonly port: number };
}

/** This app, with its mail server and its endpoints on loopback. */
export function appWith({ smtp, http }: Peers, env: Record<string, string> = {}): App {
  return {
    main: new URL("../src/main.ts", import.meta.url),
    queues: Object.values(QUEUE_OF),
    env: {
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      MAIL_FROM: "noreply@toolctrl.test",
      WEBHOOK_SECRETS_KEY: SECRETS_KEY,
      WEBHOOK_BACKOFF_MS: "10",
      MARKETING_PROVIDER_URL: `http://127.0.0.1:${http.port}/v1`,
      MARKETING_PROVIDER_TOKEN: "provider-token",
      MARKETING_BACKOFF_MS: "10",
      OUTBOUND_HTTP_ALLOW: `127.0.0.1:${http.port}`,
      ...env,
    },
  };
}

/** One consumer of the app in a process of its own. */
export function partOf(app: App, consumer: ConsumerName): App {
  const env = { ...app.env, CONSUMER: consumer };
  return { main: new URL("./one-consumer.ts", import.meta.url), queues: [QUEUE_OF[consumer]], env, hostsLanes: true };
}

/** The app's consumers in this process, made as its main file makes them. */
export function consumersOf(
  installation: Installation,
  app: App,
  backend: Pick<QueueBackend, "addAll"> = installation.backend,
): { consumers: Consumer[]; close(): Promise<void> } {
  const { database, metrics, log } = installation;
  const env = readEnv({ ...installation.appEnv, ...app.env });
  const http = openHttp(env);
  return {
    consumers: Object.values(createConsumers(env, { pool: database.pool, backend, http, metrics, log })),
    close: () => http.close(),
  };
}

/** Renders {@link MAIL} as its consumer does, and keeps the job that would send it back. Returns the event's id. */
export async function renderMail(installation: Installation, app: App): Promise<string> {
  const keepsBack: Pick<QueueBackend, "addAll"> = { addAll: async (jobs) => jobs.map(() => ({ ok: true })) };
  const { consumers, close } = consumersOf(installation, app, keepsBack);
  const eventId = randomUUID();
  const envelope = envelopeOf(installation, MAIL, { eventId });
  const { tenantId, type, effectEpoch } = envelope;
  const delivery = { eventId, tenantId, type, payload: MAIL.payload, effectEpoch, envelope, failures: 0, maxAttempts: 1 };
  const render = consumers.find(({ name }) => name === "mail-render");
  await render?.handle({ ...delivery, signal: AbortSignal.timeout(10_000) });
  await close();
  return eventId;
}

/** Subscribes an endpoint on loopback to everything the installation's tenant publishes. */
export async function addEndpoint({ database, tenantId }: Installation, port: number): Promise<void> {
  const endpoint = { tenantId, url: `http://127.0.0.1:${port}/hook`, eventPrefixes: [], secretsKey: SECRETS_KEY };
  await database.prisma.$transaction((tx) => createWebhookEndpoint(tx, endpoint));
}
