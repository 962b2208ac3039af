// A whole installation in processes: both worker apps as children, real mail and webhook peers, and what an observer can see of them.
import { createDatabase, type Database } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { createWebhookEndpoint } from "@toolctrl/domain/webhook-endpoints";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { startPostgres, type PostgresServer } from "@toolctrl/testkit/postgres-server";
import { spawnNode } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { startSmtpPeer, type SmtpPeer } from "@toolctrl/testkit/smtp";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";
import { startWorkerProcess, type Worker, type WorkerOptions } from "./worker.ts";

const MAINS = {
  general: new URL("../src/main.ts", import.meta.url),
  mail: new URL("../../worker-mail/src/main.ts", import.meta.url),
  cli: new URL("../../cli/src/main.ts", import.meta.url),
};
const SECRETS_KEY = Buffer.alloc(32, 7).toString("base64");
export const TENANT = "acme";

export interface Rig {
  readonly database: Database;
  readonly smtp: SmtpPeer;
  readonly http: HttpPeer;
  readonly env: Readonly<Record<string, string>>;
  /** Starts an app as a process of its own and waits until its health server listens. */
  start(app: "general" | "mail", options?: WorkerOptions): Promise<Worker>;
  /** Runs the CLI with `--json` as a process of its own. */
  cli(...args: string[]): Promise<{ code: number | null; document: Record<string, unknown> }>;
}

export interface RigOptions {
  readonly kind?: "redis" | "postgres";
  /** A Redis of the test's own; the default is the run's. */
  readonly redisUrl?: string;
  /** A migrated database of the test's own; the default is a copy of the run's template. */
  readonly databaseUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Opens an installation with one webhook endpoint; nothing of it runs yet. */
export async function openRig(options: RigOptions = {}): Promise<Rig> {
  const url = options.databaseUrl ?? (await createTestDatabase()).url;
  const [smtp, http] = await Promise.all([startSmtpPeer(), startHttpPeer()]);
  const database = await createDatabase({ url, poolMax: 5, app: "test" });
  onTestFinished(() => database.close(500));
  await database.prisma.$transaction((tx) =>
    createWebhookEndpoint(tx, { tenantId: TENANT, url: `${http.url}/hook`, eventPrefixes: [], secretsKey: SECRETS_KEY }),
  );
  const env = { ...baseEnv(options, url, smtp.port, http.port), ...options.env };
  return {
    database,
    smtp,
    http,
    env,
    start: (app, worker = {}) => startWorkerProcess(MAINS[app], env, worker),
    async cli(...args) {
      const child = spawnNode(MAINS.cli, { args: [...args, "--json"], env });
      const { code } = await child.waitForExit();
      return { code, document: JSON.parse(child.stdout()) as Record<string, unknown> };
    },
  };
}

function baseEnv(options: RigOptions, databaseUrl: string, smtpPort: number, httpPort: number): Record<string, string> {
  const namespace = createRedisNamespace();
  const kind = options.kind ?? "redis";
  return {
    NODE_ENV: "test",
    DATABASE_URL: databaseUrl,
    QUEUE_BACKEND: kind,
    ...(kind === "redis" ? { REDIS_URL: options.redisUrl ?? namespace.url } : {}),
    QUEUE_PREFIX: namespace.prefix,
    // What an outage costs is paid in these times; an operator's are longer, the protocol is the same.
    QUEUE_LOCK_MS: "2000",
    OUTBOX_CLAIM_TTL_MS: "2000",
    OUTBOX_RECEIVER_BACKOFF_MS: "50",
    PLUGIN_DEADLINE_MS: "1500",
    OUTBOX_DISPATCHER_ENABLED: "true",
    OUTBOX_DISPATCH_INTERVAL_MS: "50",
    ...mailEnv(smtpPort, httpPort),
  };
}

/** What worker-mail alone needs to start. */
export function mailEnv(smtpPort: number, httpPort: number): Record<string, string> {
  return {
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    MAIL_FROM: "noreply@toolctrl.test",
    MAIL_SEND_DEADLINE_MS: "1500",
    WEBHOOK_SECRETS_KEY: SECRETS_KEY,
    WEBHOOK_DEADLINE_MS: "1500",
    WEBHOOK_BACKOFF_MS: "50",
    MARKETING_DEADLINE_MS: "1500",
    OUTBOUND_HTTP_ALLOW: `127.0.0.1:${httpPort}`,
  };
}

/** A PostgreSQL of the test's own, migrated by the product, to stop and start again. */
export async function startOwnPostgres(): Promise<PostgresServer> {
  const server = await startPostgres();
  onTestFinished(() => server.close());
  await migrate({ url: server.url });
  return server;
}
