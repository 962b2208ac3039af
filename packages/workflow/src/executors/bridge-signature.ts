import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** The headers of a signed request, in lowercase. */
export const BRIDGE_HEADERS = { timestamp: "x-bridge-timestamp", nonce: "x-bridge-nonce", signature: "x-bridge-signature" } as const;

/** How far the two clocks may be apart, and how long a nonce is kept, ms. */
export const BRIDGE_WINDOW_MS = 5 * 60 * 1000;

export interface SignedParts {
  readonly method: string;
  /** With its query, as it is asked for. */
  readonly path: string;
  /** Unix time, ms, in decimal. */
  readonly timestamp: string;
  /** Never used before. */
  readonly nonce: string;
  readonly body: string;
}

/** HMAC-SHA256, base64, over everything that says what is asked for: a request cannot be moved to another path, time or body. */
export function signBridgeRequest({ method, path, timestamp, nonce, body }: SignedParts, secret: string): string {
  const hash = createHash("sha256").update(body).digest("hex");
  return createHmac("sha256", secret).update([method, path, timestamp, nonce, hash].join("\n")).digest("base64");
}

/** Compares in the same time whatever is wrong. */
export function isBridgeSignature(parts: SignedParts, secret: string, signature: string): boolean {
  const expected = Buffer.from(signBridgeRequest(parts, secret));
  const got = Buffer.from(signature);
  return expected.length === got.length && timingSafeEqual(expected, got);
}
