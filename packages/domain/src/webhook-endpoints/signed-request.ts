import { DEPTH_HEADER } from "@toolctrl/foundation/envelope";
import { signWebhook } from "./sign-webhook.ts";

/** Nothing in an answer's body is used; reading a little of it lets the other side end its answer properly. */
const MAX_RESPONSE_BYTES = 1024;

export interface SignedCall {
  readonly url: string;
  readonly id: string;
  readonly body: Buffer;
  readonly secrets: readonly string[];
  /** How many events led to it: what comes of it is one deeper. */
  readonly depth: number;
}

/**
 * One try at a signed call, in the form of Standard Webhooks: its time is now, its id that of every try.
 * @throws CodedError `WEBHOOK.SECRET`
 */
export function signedRequest({ url, depth, ...signed }: SignedCall) {
  const signature = signWebhook({ ...signed, timestampSeconds: Math.floor(Date.now() / 1000) });
  const told = { "content-type": "application/json", "user-agent": "Toolctrl-Outbox/1", [DEPTH_HEADER]: String(depth + 1) };
  const headers = { ...told, ...signature };
  return { url, method: "POST", headers, body: signed.body, maxResponseBytes: MAX_RESPONSE_BYTES } as const;
}
