import { z } from "zod";
import type { JsonObject } from "../../json.ts";
import { tableSchema, templateSchema } from "../texts.ts";

const MAX_ID_LENGTH = 1_000;

const id = templateSchema(MAX_ID_LENGTH);
/** Strings in it are templates; one that is a single placeholder becomes the value itself, with its type. */
const data: z.ZodType<JsonObject> = z.record(z.string(), z.json());

export const rowCreateConfigSchema = z.strictObject({
  table: tableSchema,
  data,
  /** The row it stands below. */
  parent: z.strictObject({ table: tableSchema, id }).optional(),
});

export const rowUpdateConfigSchema = z.strictObject({ table: tableSchema, id, data });

export const rowDeleteConfigSchema = z.strictObject({ table: tableSchema, id });
