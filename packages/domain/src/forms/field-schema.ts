import { z } from "zod";

export const FIELD_KINDS = ["text", "email", "number", "boolean", "choice"] as const;
export type FieldKind = (typeof FIELD_KINDS)[number];

const MAX_TEXT_LENGTH = 10_000;
const DEFAULT_TEXT_LENGTH = 1_000;

// What templates can name as `data.<name>`.
const name = z
  .string()
  .regex(/^[a-z][A-Za-z0-9_]{0,63}$/, { error: "expected a lowercase letter, then letters, digits or _, at most 64 characters" });
const common = {
  name,
  label: z.string().min(1).max(200).optional(),
  /** Whether something has to be given. A text of spaces alone is nothing. */
  required: z.boolean().default(false),
};

/** A field of a form. */
const fieldSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    ...common,
    kind: z.literal("text"),
    minLength: z.int().min(0).max(MAX_TEXT_LENGTH).default(0),
    maxLength: z.int().min(1).max(MAX_TEXT_LENGTH).default(DEFAULT_TEXT_LENGTH),
  }),
  z.strictObject({ ...common, kind: z.literal("email") }),
  z.strictObject({ ...common, kind: z.literal("number") }),
  z.strictObject({ ...common, kind: z.literal("boolean") }),
  z.strictObject({ ...common, kind: z.literal("choice"), choices: z.array(z.string().min(1).max(200)).min(1).max(100) }),
]);

export const fieldsSchema = z.array(fieldSchema).min(1).max(100);

/** A field as a form keeps it; what was left out is filled in. */
export type FormField = z.output<typeof fieldSchema>;
/** A field as it is given. */
export type FormFieldInput = z.input<typeof fieldSchema>;
