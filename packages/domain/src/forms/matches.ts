import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import type { Operand, RouteCondition } from "./route-schema.ts";
import { textKey } from "./text-key.ts";

/** Whether a condition holds for the data of a submission. A field that was left empty equals, contains and is nothing. */
export function matches(condition: RouteCondition, data: JsonObject): boolean {
  const { field, equals, contains, oneOf, exists, all, any } = condition;
  if (all !== undefined) return all.every((member) => matches(member, data));
  if (any !== undefined) return any.some((member) => matches(member, data));
  const value = field !== undefined && Object.hasOwn(data, field) ? data[field] : undefined;
  if (exists !== undefined) return exists === (value !== undefined);
  if (value === undefined) return false;
  if (equals !== undefined) return isSame(value, equals);
  if (oneOf !== undefined) return oneOf.some((operand) => isSame(value, operand));
  return contains !== undefined && typeof value === "string" && textKey(value).includes(textKey(contains));
}

function isSame(value: JsonValue, operand: Operand): boolean {
  if (typeof value === "string" && typeof operand === "string") return textKey(value) === textKey(operand);
  return value === operand;
}
