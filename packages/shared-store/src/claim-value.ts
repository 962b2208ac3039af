import { CodedError } from "@toolctrl/foundation/errors";
import { toStorableResult } from "@toolctrl/outbox-receiver/storable-result";

/**
 * What stands under a key. Every value is a JSON object tagged with its version and kind, so a claim and a result cannot be confused
 * whatever the handler returns; the owner's token makes each value unique, so compare-and-set never matches another owner's.
 *
 *     {"v":1,"kind":"claim","token":…}
 *     {"v":1,"kind":"done","token":…,"result":…}      no "result": undefined
 *     {"v":1,"kind":"done","token":…,"omitted":why}   the result could not be kept
 */
export type ClaimValue =
  | { readonly kind: "claim"; readonly token: string }
  | { readonly kind: "done"; readonly token: string; readonly result: unknown; readonly omitted?: string };

/** The value of a running delivery's claim. */
export function encodeClaim(token: string): string {
  return JSON.stringify({ v: 1, kind: "claim", token });
}

/** The value of a finished delivery. Never throws: a result that cannot be kept is left out, with the reason. */
export function encodeDone(token: string, result: unknown): string {
  const storable = toStorableResult(result);
  if (storable.kind === "omitted") return JSON.stringify({ v: 1, kind: "done", token, omitted: storable.why });
  const head = JSON.stringify({ v: 1, kind: "done", token });
  return storable.json === undefined ? head : `${head.slice(0, -1)},"result":${storable.json}}`;
}

/**
 * Reads a value back.
 * @throws CodedError `STORE.VALUE` for anything else: it is neither success nor a reason to run the handler.
 */
export function decodeClaimValue(key: string, text: string): ClaimValue {
  const value = parseObject(text);
  if (value !== null && value["v"] === 1 && typeof value["token"] === "string") {
    if (value["kind"] === "claim") return { kind: "claim", token: value["token"] };
    if (value["kind"] === "done") {
      const omitted = typeof value["omitted"] === "string" ? { omitted: value["omitted"] } : {};
      return { kind: "done", token: value["token"], result: value["result"], ...omitted };
    }
  }
  throw new CodedError("STORE.VALUE", `expected a claim or a result of version 1 under ${key}, got another value`, { facts: { key } });
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    // Not JSON, so not ours; the caller names the key.
    return null;
  }
}
