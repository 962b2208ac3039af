import { z } from "zod";
import { unknownKind } from "./suggest.ts";
import { slugSchema } from "./texts.ts";
import { uniqueBy } from "./unique.ts";

export const INPUT_FIELD_TYPES = ["text", "number", "boolean", "date", "choice"] as const;

const MAX_TEXT_LENGTH = 10_000;
const DEFAULT_TEXT_LENGTH = 1_000;
const MAX_FIELDS = 50;
const MAX_CHOICES = 100;

const common = {
  name: slugSchema,
  /** What the person reads beside it. */
  label: z.string().min(1).max(200),
  /** Whether something has to be given. A text of spaces alone is nothing. */
  required: z.boolean().default(true),
};

const fieldSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({
      ...common,
      type: z.literal("text"),
      maxLength: z.int().min(1).max(MAX_TEXT_LENGTH).default(DEFAULT_TEXT_LENGTH),
    }),
    z.strictObject({ ...common, type: z.literal("number") }),
    z.strictObject({ ...common, type: z.literal("boolean") }),
    /** A day, `2026-03-31`. */
    z.strictObject({ ...common, type: z.literal("date") }),
    z.strictObject({
      ...common,
      type: z.literal("choice"),
      choices: z
        .array(z.string().max(200).regex(/\S/, { error: "expected more than spaces, which is no answer" }))
        .min(1)
        .max(MAX_CHOICES)
        .superRefine(uniqueBy((choice) => choice, "choice")),
    }),
  ],
  { error: unknownKind("type", INPUT_FIELD_TYPES, "type of field") },
);

/** What a person is asked for: by a `waitForInput`, or when a workflow is started by hand. */
export const inputFieldsSchema = z
  .array(fieldSchema)
  .min(1)
  .max(MAX_FIELDS)
  .superRefine(uniqueBy(({ name }) => name, "name", "name"));

/** A field as it is kept; what was left out is filled in. */
export type InputField = z.output<typeof fieldSchema>;
