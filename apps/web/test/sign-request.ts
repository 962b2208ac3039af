import { createHash, createHmac, randomUUID } from "node:crypto";
import { BRIDGE_PATH } from "@toolctrl/workflow/executors";
import { BRIDGE_SECRET } from "./support.ts";

export interface SignedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Signs a request as the contract says, by hand: the product's own signer could be wrong together with its verifier. */
export function signRequest(parts: {
  readonly body: string;
  readonly secret?: string;
  readonly path?: string;
  readonly method?: string;
  readonly timestamp?: number;
}): SignedRequest {
  const { body, secret = BRIDGE_SECRET, path = BRIDGE_PATH, method = "POST" } = parts;
  const timestamp = String(parts.timestamp ?? Date.now());
  const nonce = randomUUID();
  const hash = createHash("sha256").update(body).digest("hex");
  const signature = createHmac("sha256", secret).update(`${method}\n${path}\n${timestamp}\n${nonce}\n${hash}`).digest("base64");
  return { path, body, headers: { "x-bridge-timestamp": timestamp, "x-bridge-nonce": nonce, "x-bridge-signature": signature } };
}
