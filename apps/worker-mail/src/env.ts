import {
  integer,
  lessThan,
  loadEnv,
  optionalChoice,
  optionalText,
  optionalUrl,
  text,
  url,
  workerEnv,
  type EnvRule,
} from "@toolctrl/runtime/env";
import { callPolicyFields } from "@toolctrl/worker/call-policy-fields";
import { workerShape } from "@toolctrl/worker/env";
import { RETRY_HORIZON_RULE } from "@toolctrl/worker/settings";
import { z } from "zod";

const ADDRESS = /^[^\s@,;<>()"]{1,64}@[A-Za-z0-9.-]{1,253}$/;
const endpoint = callPolicyFields({ tries: "Tries per endpoint before the delivery is dead", peer: "an endpoint" });
const provider = callPolicyFields({ tries: "Tries at telling the provider before an event is dead", peer: "the provider" });

/** Mail and webhooks: only this app has them. */
export const mailEnv = {
  SMTP_URL: url({
    protocols: ["smtp:", "smtps:"],
    about: "Mail server, with credentials where it asks for them; smtps is TLS from the first byte",
  }),
  SMTP_TLS: optionalChoice({
    values: ["off", "opportunistic", "required"],
    about: "STARTTLS on smtp://; unset means required when SMTP_URL has credentials, else opportunistic",
  }),
  MAIL_FROM: text({ pattern: ADDRESS, accepts: "one plain address", about: "Sender of mails that name none" }),
  MAIL_MESSAGE_ID_DOMAIN: optionalText({
    pattern: /^[A-Za-z0-9.-]{1,253}$/,
    accepts: "a domain",
    printable: true,
    about: "Right half of every Message-ID; unset means the domain of MAIL_FROM. Changing it makes repeats of older mails look new",
  }),
  MAIL_SEND_DEADLINE_MS: integer({
    min: 100,
    max: 10 * 60 * 1000,
    fallback: 20_000,
    about: "Longest time (ms) of one try at a mail, from connecting to the last reply; less than OUTBOX_CLAIM_TTL_MS",
  }),
  MAIL_RENDER_CONCURRENCY: integer({ min: 1, max: 1000, fallback: 10, about: "Mails rendered at the same time" }),
  MAIL_SEND_CONCURRENCY: integer({ min: 1, max: 1000, fallback: 10, about: "Mails sent at the same time, a connection each" }),
  WEBHOOK_SECRETS_KEY: text({
    pattern: /^[A-Za-z0-9+/]{43}=$/,
    accepts: "32 bytes in base64",
    printable: false,
    about: "Encrypts the endpoints' secrets at rest (openssl rand -base64 32)",
  }),
  WEBHOOK_MAX_ATTEMPTS: endpoint.maxAttempts,
  WEBHOOK_BACKOFF_MS: endpoint.backoffMs,
  WEBHOOK_RETRY_AFTER_MAX_SECONDS: endpoint.retryAfterMaxSeconds,
  WEBHOOK_DEADLINE_MS: integer({
    min: 100,
    max: 10 * 60 * 1000,
    fallback: 15_000,
    about: "Longest time (ms) of one request to an endpoint; less than OUTBOX_CLAIM_TTL_MS",
  }),
  WEBHOOK_CONCURRENCY: integer({ min: 1, max: 1000, fallback: 10, about: "Events delivered at the same time" }),
  MARKETING_PROVIDER_URL: optionalUrl({
    protocols: ["https:", "http:"],
    about:
      "Marketing provider; contacts are put below it, at `contacts/<id>`. Unset keeps contacts here and tells nobody. https in production",
  }),
  MARKETING_PROVIDER_TOKEN: optionalText({
    pattern: /^[\x21-\x7e]{1,2000}$/,
    accepts: "a token of printable characters",
    about: "What the provider knows us by (`Authorization: Bearer`); set if and only if `MARKETING_PROVIDER_URL` is",
  }),
  MARKETING_MAX_ATTEMPTS: provider.maxAttempts,
  MARKETING_BACKOFF_MS: provider.backoffMs,
  MARKETING_RETRY_AFTER_MAX_SECONDS: provider.retryAfterMaxSeconds,
  MARKETING_DEADLINE_MS: integer({
    min: 100,
    max: 10 * 60 * 1000,
    fallback: 15_000,
    about: "Longest time (ms) of one request to the provider; less than OUTBOX_CLAIM_TTL_MS",
  }),
  MARKETING_CONCURRENCY: integer({ min: 1, max: 1000, fallback: 10, about: "Marketing events handled at the same time" }),
};

/** What worker-mail reads from its environment; docs/reference/env.md lists it. */
export const workerMailEnv = z.object({ ...workerShape, ...workerEnv("mail"), ...mailEnv });

// A call that outlives an unrenewed claim would still be running when the next delivery takes it for dead.
const RULES: readonly EnvRule[] = [
  lessThan("MAIL_SEND_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS"),
  lessThan("WEBHOOK_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS"),
  lessThan("MARKETING_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS"),
  {
    // A missing token would turn every event into a dead one, and one that is sent in the clear is everybody's.
    names: ["NODE_ENV", "MARKETING_PROVIDER_URL", "MARKETING_PROVIDER_TOKEN"],
    check: (values) => checkProvider(values["MARKETING_PROVIDER_URL"], values["MARKETING_PROVIDER_TOKEN"], values["NODE_ENV"]),
  },
  RETRY_HORIZON_RULE,
];

function checkProvider(url: unknown, token: unknown, nodeEnv: unknown): string | null {
  if (typeof url !== "string") return token === undefined ? null : "MARKETING_PROVIDER_TOKEN: expected none without MARKETING_PROVIDER_URL";
  if (token === undefined) return "MARKETING_PROVIDER_TOKEN: expected a value with MARKETING_PROVIDER_URL, got none";
  const { protocol, username, password } = new URL(url);
  if (username !== "" || password !== "") return "MARKETING_PROVIDER_URL: expected no user and no password in it";
  if (protocol === "http:" && nodeEnv === "production") return "MARKETING_PROVIDER_URL: expected https with NODE_ENV=production, got http";
  return null;
}

export type WorkerMailEnv = z.output<typeof workerMailEnv>;

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readEnv(source: Readonly<Record<string, string | undefined>> = process.env): WorkerMailEnv {
  return loadEnv(workerMailEnv, source, RULES);
}
