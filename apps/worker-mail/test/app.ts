import type { Consumer } from "@toolctrl/consumer/define";
import type { App } from "@toolctrl/consumer-testkit/app-process";
import type { Installation } from "@toolctrl/consumer-testkit/installation";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { allowedTargets } from "../src/settings.ts";
import { SECRETS_KEY } from "./harness.ts";

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
  return { main: new URL("./one-consumer.ts", import.meta.url), queues: [QUEUE_OF[consumer]], env: { ...app.env, CONSUMER: consumer } };
}

/** The app's consumers in this process, made as its main file makes them. */
export function consumersOf(
  installation: Installation,
  app: App,
  backend: Pick<QueueBackend, "addAll"> = installation.backend,
): { consumers: Consumer[]; close(): Promise<void> } {
  const { database, metrics, log } = installation;
  const env = readEnv({ ...installation.appEnv, ...app.env });
  const http = createGuardedHttp({ allow: allowedTargets(env) });
  return { consumers: createConsumers(env, { pool: database.pool, backend, http, metrics, log }), close: () => http.close() };
}
