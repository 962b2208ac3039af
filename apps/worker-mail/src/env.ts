import { integer, lessThan, loadEnv, optionalChoice, optionalText, text, url, workerEnv, type EnvRule } from "@toolctrl/runtime/env";
import { workerShape } from "@toolctrl/worker/env";
import { RETRY_HORIZON_RULE } from "@toolctrl/worker/settings";
import { z } from "zod";

const ADDRESS = /^[^\s@,;<>()"]{1,64}@[A-Za-z0-9.-]{1,253}$/;

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
  WEBHOOK_MAX_ATTEMPTS: integer({ min: 1, max: 20, fallback: 8, about: "Tries per endpoint before the delivery is dead" }),
  WEBHOOK_BACKOFF_MS: integer({
    min: 1,
    max: 60 * 60 * 1000,
    fallback: 5000,
    about: "Wait (ms) before the second try at an endpoint; doubles with each, up to an hour",
  }),
  WEBHOOK_RETRY_AFTER_MAX_SECONDS: integer({
    min: 0,
    max: 24 * 60 * 60,
    fallback: 3600,
    about: "Most (s) that an endpoint's Retry-After can ask for",
  }),
  WEBHOOK_DEADLINE_MS: integer({
    min: 100,
    max: 10 * 60 * 1000,
    fallback: 15_000,
    about: "Longest time (ms) of one request to an endpoint; less than OUTBOX_CLAIM_TTL_MS",
  }),
  WEBHOOK_CONCURRENCY: integer({ min: 1, max: 1000, fallback: 10, about: "Events delivered at the same time" }),
};

/** What worker-mail reads from its environment; docs/reference/env.md lists it. */
export const workerMailEnv = z.object({ ...workerShape, ...workerEnv("mail"), ...mailEnv });

// A call that outlives an unrenewed claim would still be running when the next delivery takes it for dead.
const RULES: readonly EnvRule[] = [
  lessThan("MAIL_SEND_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS"),
  lessThan("WEBHOOK_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS"),
  RETRY_HORIZON_RULE,
];

export type WorkerMailEnv = z.output<typeof workerMailEnv>;

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readEnv(source: Readonly<Record<string, string | undefined>> = process.env): WorkerMailEnv {
  return loadEnv(workerMailEnv, source, RULES);
}
