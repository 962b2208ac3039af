import type { Consumer } from "@toolctrl/consumer/define";
import type { App } from "@toolctrl/consumer-testkit/app-process";
import { deliver, runConsumers, type HandedOff, type Installation } from "@toolctrl/consumer-testkit/installation";
import { createWebhookEndpoint } from "@toolctrl/domain/webhook-endpoints";
import type { QueueBackend } from "@toolctrl/queue/port";
import { waitFor } from "@toolctrl/testkit/wait";
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

export const QUEUE_OF = { "mail-render": "outbox.mail", "email-send": "toolctrl.email", "webhook-deliver": "outbox.webhook" } as const;
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

/** Renders {@link MAIL} and keeps the job that would send it back. Returns the event's id. */
export async function renderMail(installation: Installation, app: App): Promise<string> {
  let rendered = false;
  const backend: Pick<QueueBackend, "addAll"> = {
    addAll: async (jobs) => {
      rendered = true;
      return jobs.map(() => ({ ok: true }) as const);
    },
  };
  const { consumers, close } = consumersOf(installation, app, backend);
  const running = runConsumers(
    installation,
    consumers.filter(({ name }) => name === "mail-render"),
  );
  const eventId = await deliver(installation, MAIL);
  await waitFor(() => rendered, { what: "the mail to be rendered" });
  await running.close(2000);
  await close();
  return eventId;
}

/** Subscribes an endpoint on loopback to everything the installation's tenant publishes. */
export async function addEndpoint({ database, tenantId }: Installation, port: number): Promise<void> {
  const endpoint = { tenantId, url: `http://127.0.0.1:${port}/hook`, eventPrefixes: [], secretsKey: SECRETS_KEY };
  await database.prisma.$transaction((tx) => createWebhookEndpoint(tx, endpoint));
}
