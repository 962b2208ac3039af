import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { BRIDGE_HEADERS, BRIDGE_WINDOW_MS, isBridgeSignature } from "./bridge-signature.ts";

export interface BridgeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came, byte for byte. */
  readonly body: string;
}

/** Ten of those that have expired go with each new one, so that the table stays as small as the traffic of the window. */
const TAKE = `WITH gone AS (
  DELETE FROM "BridgeNonce" WHERE "nonce" IN (SELECT "nonce" FROM "BridgeNonce" WHERE "expiresAt" < clock_timestamp() ORDER BY "expiresAt" LIMIT 10 FOR UPDATE SKIP LOCKED))
INSERT INTO "BridgeNonce" ("nonce", "expiresAt") VALUES ($1, clock_timestamp() + $2::float8 * interval '1 millisecond') ON CONFLICT DO NOTHING`;

/**
 * Accepts a request of the bridge once: signed with the shared secret, of now, with a nonce that never came before. The nonces are kept for
 * twice the window, as a clock may be ahead by one.
 * Index: the primary key, `BridgeNonce_expiresAt_idx`.
 * @throws CodedError `WORKFLOW.BRIDGE`, which says what was wrong but not what would be right
 */
export async function verifyBridgeRequest(db: Queryable, request: BridgeRequest, secret: string): Promise<void> {
  const { method, path, body } = request;
  const timestamp = headerOf(request, BRIDGE_HEADERS.timestamp);
  const nonce = headerOf(request, BRIDGE_HEADERS.nonce);
  const parts = { method, path, timestamp, nonce, body };
  if (!isBridgeSignature(parts, secret, headerOf(request, BRIDGE_HEADERS.signature))) throw refused("a signature that fits", "another");
  const apart = Math.abs(Date.now() - Number(timestamp));
  if (!(apart <= BRIDGE_WINDOW_MS))
    throw refused(`a request of the last ${BRIDGE_WINDOW_MS / 1000} s`, `one ${Math.round(apart / 1000)} s away`);
  const { rowCount } = await db.query(TAKE, [nonce, 2 * BRIDGE_WINDOW_MS]);
  if (rowCount !== 1) throw refused("a nonce that never came before", "one that did");
}

function headerOf({ headers }: BridgeRequest, name: string): string {
  const value = headers[name];
  if (typeof value === "string" && value !== "" && value.length <= 200) return value;
  throw refused(`the header ${name}, once`, value === undefined ? "none" : "something else");
}

function refused(expected: string, got: string): CodedError {
  return new CodedError("WORKFLOW.BRIDGE", `expected ${expected}, got ${got}`);
}
