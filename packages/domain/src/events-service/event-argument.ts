import { CodedError } from "@toolctrl/foundation/errors";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
// As long as the names that an event carries.
const MAX_NAME_LENGTH = 200;

/** @throws CodedError `PUBLISH.ARGUMENT` for what is not 1 to 200 characters that PostgreSQL can keep */
export function checkName(value: unknown, field: string): asserts value is string {
  if (typeof value !== "string") throw eventArgument(field, "a text", value === null ? "null" : typeof value);
  if (value === "" || value.length > MAX_NAME_LENGTH) {
    throw eventArgument(field, `a text of 1 to ${MAX_NAME_LENGTH} characters`, String(value.length));
  }
  if (value.includes("\u0000") || !value.isWellFormed()) {
    throw eventArgument(field, "well-formed Unicode without U+0000", "something else");
  }
}

/** @throws CodedError `PUBLISH.ARGUMENT` */
export function checkUuid(value: unknown, field: string): asserts value is string {
  if (typeof value === "string" && UUID.test(value)) return;
  throw eventArgument(field, "a UUID", typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : typeof value);
}

export function eventArgument(field: string, expected: string, got: string): CodedError {
  return new CodedError("PUBLISH.ARGUMENT", `expected ${field} to be ${expected}, got ${got}`, { facts: { field, expected, got } });
}
