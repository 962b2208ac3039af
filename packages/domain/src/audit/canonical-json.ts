import type { JsonValue } from "@toolctrl/foundation/json";

/**
 * The one text of a JSON value: members sorted by UTF-16 code units, no white space, numbers and strings as `JSON.stringify` writes them.
 * A value that went through a jsonb column gives the same text as before.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .flatMap((key) => {
      const member = value[key];
      return member === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(member)}`];
    });
  return `{${members.join(",")}}`;
}
