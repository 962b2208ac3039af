import { createHmac } from "node:crypto";
import { CodedError } from "@toolctrl/foundation/errors";
import { keyOfWebhookSecret } from "./webhook-secret.ts";

/**
 * The headers of a delivery as Standard Webhooks has them: one `v1` signature per secret, over the exact bytes of the body.
 * @param timestampSeconds of this try; a receiver refuses old ones.
 * @throws CodedError `WEBHOOK.SECRET`
 */
export function signWebhook(delivery: {
  id: string;
  timestampSeconds: number;
  body: Buffer;
  secrets: readonly string[];
}): Record<string, string> {
  const { id, timestampSeconds, body, secrets } = delivery;
  const signatures = secrets.map((secret) => {
    const key = keyOfWebhookSecret(secret);
    if (key === null) throw new CodedError("WEBHOOK.SECRET", "expected every secret to be a webhook secret, got another text");
    return `v1,${hmacOf(key, id, timestampSeconds, body).toString("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": String(timestampSeconds), "webhook-signature": signatures.join(" ") };
}

/** HMAC-SHA256 of `id.timestamp.body`. */
export function hmacOf(key: Buffer, id: string, timestampSeconds: number, body: Buffer): Buffer {
  return createHmac("sha256", key).update(`${id}.${timestampSeconds}.`).update(body).digest();
}
