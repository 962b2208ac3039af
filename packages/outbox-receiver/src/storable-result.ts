import { describeError } from "@toolctrl/foundation/errors";
import { encodeStrictJson } from "@toolctrl/foundation/json";

/** A cached result is a convenience of the duplicate path; above this many bytes of JSON it is left out. */
export const MAX_RESULT_BYTES = 64 * 1024;

/** A handler's result as a store can keep it: its JSON (absent for `undefined`), or why it is left out. */
export type StorableResult =
  | { readonly kind: "kept"; readonly json: string | undefined }
  | { readonly kind: "omitted"; readonly why: string };

/**
 * Says whether a handler's result survives being stored as it is, and writes it down. Never throws: the handler has run, and a result
 * that cannot be stored (BigInt, cycle, function, Date, NaN, class instance, more than 64 KiB) must not make it run again.
 */
export function toStorableResult(result: unknown): StorableResult {
  if (result === undefined) return { kind: "kept", json: undefined };
  try {
    const { json, bytes } = encodeStrictJson(result);
    if (bytes > MAX_RESULT_BYTES) return { kind: "omitted", why: `expected at most ${MAX_RESULT_BYTES} bytes of JSON, got ${bytes}` };
    return { kind: "kept", json };
  } catch (error) {
    return { kind: "omitted", why: describeError(error, 200) };
  }
}
