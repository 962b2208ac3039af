import { randomBytes } from "node:crypto";
import { CodedError } from "@toolctrl/foundation/errors";

const PREFIX = "whsec_";
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** A new secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function createWebhookSecret(): string {
  return `${PREFIX}${randomBytes(32).toString("base64")}`;
}

/** The key of a secret, or null when it is not `whsec_` and 24 to 64 bytes in base64 (the prefix may be missing). */
export function keyOfWebhookSecret(secret: string): Buffer | null {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const key = Buffer.from(text, "base64");
  return key.length >= MIN_BYTES && key.length <= MAX_BYTES ? key : null;
}

/** @throws CodedError `WEBHOOK.SECRET` */
export function assertWebhookSecret(secret: string): string {
  if (keyOfWebhookSecret(secret) !== null) return secret;
  throw new CodedError(
    "WEBHOOK.SECRET",
    `expected a secret of the form ${PREFIX}<${MIN_BYTES} to ${MAX_BYTES} bytes in base64>, got another text of ${secret.length} characters`,
  );
}
