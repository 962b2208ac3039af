import { z } from "zod";
import { inputFieldsSchema } from "../input-fields.ts";
import { templateSchema } from "../texts.ts";

const MIN_EXPIRY_SECONDS = 60;
const MAX_EXPIRY_SECONDS = 90 * 24 * 60 * 60;

/** A person is asked. Branch `next` when they have answered, `expired` when nobody has in time. */
export const waitForInputConfigSchema = z.strictObject({
  /** What the person is asked, a Liquid template. */
  title: templateSchema(500),
  fields: inputFieldsSchema,
  /** From the moment the run rests here; without it there is no end to the waiting. */
  expiresInSeconds: z.int().min(MIN_EXPIRY_SECONDS).max(MAX_EXPIRY_SECONDS).optional(),
  /** Who is asked, a Liquid template; without it everybody of the tenant. */
  assignee: templateSchema(1_000).optional(),
});
