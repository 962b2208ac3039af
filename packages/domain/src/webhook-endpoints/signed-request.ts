import { signWebhook } from "./sign-webhook.ts";

/** Nothing in an answer's body is used; reading a little of it lets the other side end its answer properly. */
const MAX_RESPONSE_BYTES = 1024;

/**
 * One try at a signed call, in the form of Standard Webhooks: its time is now, its id that of every try.
 * @throws CodedError `WEBHOOK.SECRET`
 */
export function signedRequest({ url, ...signed }: { url: string; id: string; body: Buffer; secrets: readonly string[] }) {
  const signature = signWebhook({ ...signed, timestampSeconds: Math.floor(Date.now() / 1000) });
  const headers = { "content-type": "application/json", "user-agent": "Toolctrl-Outbox/1", ...signature };
  return { url, method: "POST", headers, body: signed.body, maxResponseBytes: MAX_RESPONSE_BYTES } as const;
}
