import type { JsonValue } from "@toolctrl/foundation/json";

/**
 * Whether a value is a case of a `switch`. The one rule of coercion:
 *
 * - the same JSON type: text, number or boolean that is equal;
 * - a number and a text: when the text is the number as JSON writes it. `"20"` is 20; `"20.0"`, `"020"`, `" 20"`, `""` and `"0x14"` are not;
 * - a boolean and a text: when the text is `true` or `false`;
 * - null matches null alone. A path that leads nowhere is null;
 * - objects and lists match nothing, not even themselves.
 *
 * It does not matter which of the two is the value and which the case.
 */
export function isCase(value: JsonValue, caseValue: JsonValue): boolean {
  if (typeof value === "object" || typeof caseValue === "object") return value === null && caseValue === null;
  if (typeof value === typeof caseValue) return value === caseValue;
  // What is left is a number or a boolean with a text, which are equal by their JSON, or a number with a boolean, which never are.
  return String(value) === String(caseValue) && (typeof value === "string" || typeof caseValue === "string");
}
