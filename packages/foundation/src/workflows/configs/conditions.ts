import { z } from "zod";
import { celSchema, slugSchema } from "../texts.ts";
import { uniqueBy } from "../unique.ts";

const MAX_CASES = 50;
const MAX_EQUALS_LENGTH = 1_000;

/** Branch `then` when the condition is true, `else` when it is false. */
export const ifConfigSchema = z.strictObject({ condition: celSchema });

const caseSchema = z.strictObject({
  /** Also the name of the branch. */
  name: slugSchema.refine((name) => name !== "default", { error: "expected a name other than default, the branch of no case" }),
  equals: z.union([z.string().max(MAX_EQUALS_LENGTH), z.number(), z.boolean(), z.null()], {
    error: "expected a text, a number, true, false or null",
  }),
});

/** The branch of the case that equals the value, else `default`. Whether two cases are the same is checked where they are compared. */
export const switchConfigSchema = z.strictObject({
  value: celSchema,
  cases: z
    .array(caseSchema)
    .min(1)
    .max(MAX_CASES)
    .superRefine(uniqueBy(({ name }) => name, "name", "name")),
});
