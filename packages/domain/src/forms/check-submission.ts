import { assertNever, CodedError, isCodedError } from "@toolctrl/foundation/errors";
import { encodeStrictJson, type JsonObject, type JsonValue } from "@toolctrl/foundation/json";
import { storableText } from "@toolctrl/foundation/text";
import { parseAddress } from "../emails/parse-address.ts";
import type { FormField } from "./field-schema.ts";
import { isStorable } from "./form-argument.ts";
import { textKey } from "./text-key.ts";

/** Larger ones are files, and belong elsewhere. */
const MAX_DATA_BYTES = 64 * 1024;

/** What is wrong with one field of a submission. Tells nothing of what was written. */
export interface FieldProblem {
  readonly field: string;
  readonly expected: string;
  readonly got: string;
}

/**
 * The data of a submission as they are stored: fields of the form alone, in its order, those that were left empty left out.
 * @throws CodedError `FORM.DATA`; its `facts.fields` has each field that is wrong, with what was expected and got
 */
export function checkSubmission(fields: readonly FormField[], data: unknown): JsonObject {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw wrongData([{ field: "data", expected: "an object of fields", got: describe(data) }]);
  }
  const given = new Map(Object.entries(data));
  const problems: FieldProblem[] = [...given.keys()]
    .filter((name) => fields.every((field) => field.name !== name))
    .map((name) => ({ field: storableText(name, 64), expected: "absent", got: "a field that the form does not have" }));
  const checked: JsonObject = {};
  for (const field of fields) {
    const value: unknown = given.get(field.name);
    const result = isEmpty(value) ? checkEmpty(field) : checkValue(field, value);
    if ("expected" in result) problems.push({ field: field.name, ...result });
    else if (result.value !== undefined) checked[field.name] = result.value;
  }
  if (problems.length > 0) throw wrongData(problems);
  const { bytes } = encodeStrictJson(checked);
  if (bytes <= MAX_DATA_BYTES) return checked;
  throw wrongData([{ field: "data", expected: `at most ${MAX_DATA_BYTES} bytes of JSON`, got: String(bytes) }]);
}

type Result = { readonly value: JsonValue | undefined } | Omit<FieldProblem, "field">;

// As an HTML form sends an input that was left empty.
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.trim() === "");
}

function checkEmpty(field: FormField): Result {
  return field.required ? { expected: `a ${field.kind}`, got: "nothing" } : { value: undefined };
}

function checkValue(field: FormField, value: unknown): Result {
  switch (field.kind) {
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? { value } : { expected: "a number", got: describe(value) };
    case "boolean":
      return typeof value === "boolean" ? { value } : { expected: "true or false", got: describe(value) };
    default:
      if (typeof value !== "string") return { expected: "a text", got: describe(value) };
      return isStorable(value) ? checkText(field, value) : { expected: "well-formed Unicode without U+0000", got: "something else" };
  }
}

function checkText(field: Extract<FormField, { kind: "text" | "email" | "choice" }>, value: string): Result {
  switch (field.kind) {
    case "text": {
      const { minLength, maxLength } = field;
      if (value.length >= minLength && value.length <= maxLength) return { value };
      return { expected: `a text of ${minLength} to ${maxLength} characters`, got: `one of ${value.length}` };
    }
    case "email":
      return checkEmail(value);
    case "choice": {
      const choice = field.choices.find((each) => textKey(each) === textKey(value));
      return choice === undefined ? { expected: `one of ${field.choices.join(", ")}`, got: "another text" } : { value: choice };
    }
    default:
      return assertNever(field);
  }
}

function checkEmail(value: string): Result {
  try {
    return { value: parseAddress(value.trim(), "it") };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { expected: "one plain e-mail address", got: error.message.replace(/^.*, got /s, "") };
  }
}

function describe(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

function wrongData(fields: readonly FieldProblem[]): CodedError {
  const lines = fields.map(({ field, expected, got }) => `  - ${field}: expected ${expected}, got ${got}`);
  return new CodedError("FORM.DATA", `expected what was sent to fit the form, got:\n${lines.join("\n")}`, { facts: { fields } });
}
