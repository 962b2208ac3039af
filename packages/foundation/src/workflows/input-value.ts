import { z } from "zod";
import { assertNever } from "../errors.ts";
import type { InputField } from "./input-fields.ts";

/** Larger ones are files, and belong elsewhere. */
const MAX_INPUT_BYTES = 64 * 1024;

/** What a person has given, by field; what they left empty is not there. */
export type InputValue = Record<string, string | number | boolean>;

/**
 * The schema of what a person may give for some fields: those alone, each of its type, the required ones there.
 * Null and a text of spaces alone are nothing, as a form sends an input that was left empty. Its messages tell nothing of what was written.
 *
 * @param config a `waitForInput`'s configuration, or `{ fields: trigger.input }` of a manual trigger
 */
export function inputValueSchema(config: { readonly fields: readonly InputField[] }): z.ZodType<InputValue> {
  const shape = Object.fromEntries(config.fields.map((field) => [field.name, valueSchema(field)]));
  const object = z
    .strictObject(shape, { error: expected("an object of fields", ["invalid_type"]) })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_INPUT_BYTES, {
      error: `expected at most ${MAX_INPUT_BYTES} bytes of JSON`,
    });
  return z.preprocess(withoutEmpty, object) as unknown as z.ZodType<InputValue>;
}

function withoutEmpty(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "string" && value.trim() === "");
}

function valueSchema(field: InputField): z.ZodType {
  const schema = givenSchema(field);
  return field.required ? schema : schema.optional();
}

function givenSchema(field: InputField): z.ZodType {
  switch (field.type) {
    case "text":
      return textSchema(field.maxLength);
    case "number":
      return z.number({ error: expected("a number") });
    case "boolean":
      return z.boolean({ error: expected("true or false") });
    case "date":
      return z.iso.date({ error: expected("a day like 2026-03-31") });
    case "choice":
      return choiceSchema(field.choices);
    default:
      return assertNever(field);
  }
}

// No z.enum: its keys are properties, and __proto__ may be a choice.
function choiceSchema(choices: readonly string[]): z.ZodType {
  const error = expected(`one of ${choices.join(", ")}`);
  return z.string({ error }).refine((text) => choices.includes(text), { error });
}

function textSchema(maxLength: number): z.ZodType {
  return (
    z
      .string({ error: expected("a text") })
      .max(maxLength, { error: ({ input }) => `expected at most ${maxLength} characters, got ${(input as string).length}` })
      // PostgreSQL cannot keep the others.
      .refine((text) => text.isWellFormed() && !text.includes("\u0000"), { error: "expected well-formed Unicode without U+0000" })
  );
}

function expected(what: string, codes?: readonly string[]): (issue: z.core.$ZodRawIssue) => string | undefined {
  return ({ code, input }) => (codes === undefined || codes.includes(code ?? "") ? `expected ${what}, got ${describe(input)}` : undefined);
}

function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (typeof value === "string") return "another text";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
