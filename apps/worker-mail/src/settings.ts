import type { Consumer } from "@toolctrl/consumer/define";
import { BACKOFF_MINUTES } from "@toolctrl/outbox-drainer/backoff";
import type { ProcessEntry } from "@toolctrl/outbox-drainer/registry";
import { assertResultTtlCoversHorizon } from "@toolctrl/outbox-receiver/horizon";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { WorkerMailEnv } from "./env.ts";
import type { SmtpServer } from "./smtp/send-mail.ts";

/** For waiting in the queue and slow handlers, s. */
const MARGIN_SECONDS = 600;

/** What this process says of itself in the register of live processes. It never drains. */
export function processEntry(env: WorkerMailEnv, app: string, backend: QueueBackend, consumers: readonly Consumer[]): ProcessEntry {
  return {
    app,
    vote: env.OUTBOX_PULL_WORKER,
    drains: false,
    queueBackend: backend.kind,
    queuePrefix: backend.prefix,
    queues: consumers.map(({ queue }) => queue),
  };
}

/**
 * How long the receiver remembers.
 * @throws CodedError `RECEIVER.TTL_TOO_SHORT` when a result would end before the last retry of its event.
 */
export function receiverSettings(env: WorkerMailEnv): { ttlSeconds: number; claimTtlMs: number } {
  assertResultTtlCoversHorizon({
    resultTtlSeconds: env.OUTBOX_RESULT_TTL_SECONDS,
    dispatcher: { maxRetries: env.OUTBOX_MAX_RETRIES, backoffMinutes: BACKOFF_MINUTES, leaseMs: env.OUTBOX_LEASE_MS },
    queue: { attempts: env.OUTBOX_RECEIVER_ATTEMPTS, backoffMs: env.OUTBOX_RECEIVER_BACKOFF_MS },
    marginSeconds: MARGIN_SECONDS,
  });
  return { ttlSeconds: env.OUTBOX_RESULT_TTL_SECONDS, claimTtlMs: env.OUTBOX_CLAIM_TTL_MS };
}

/** The mail server of `SMTP_URL`. A password never leaves unencrypted unless `SMTP_TLS` says so. */
export function smtpServer(env: WorkerMailEnv): SmtpServer {
  const url = new URL(env.SMTP_URL);
  const secure = url.protocol === "smtps:";
  const auth = url.username === "" ? null : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
  return {
    // An IPv6 host stands in brackets in a URL, and nowhere else.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    startTls: env.SMTP_TLS ?? (auth === null ? "opportunistic" : "required"),
    auth,
  };
}

/** Right half of the Message-IDs. */
export function messageIdDomain(env: WorkerMailEnv): string {
  return env.MAIL_MESSAGE_ID_DOMAIN ?? env.MAIL_FROM.slice(env.MAIL_FROM.lastIndexOf("@") + 1);
}

/** Addresses that webhooks may reach although they are not public. */
export function allowedTargets(env: WorkerMailEnv): string[] {
  return env.OUTBOUND_HTTP_ALLOW?.split(",") ?? [];
}
