import { describeError } from "@toolctrl/foundation/errors";
import { encodeStrictJson } from "@toolctrl/foundation/json";

/**
 * A handler's result as a receipt keeps it. `undefined` is stored as SQL NULL, `null` as JSON null. A result that cannot be stored
 * is left out and `detail` says why: the effect has happened, so the receipt must be written all the same.
 */
export function encodeReceiptResult(result: unknown): { json: string | null; detail: string | null } {
  if (result === undefined) return { json: null, detail: null };
  try {
    return { json: encodeStrictJson(result).json, detail: null };
  } catch (error) {
    return { json: null, detail: `result not stored: ${describeError(error, 500)}` };
  }
}
