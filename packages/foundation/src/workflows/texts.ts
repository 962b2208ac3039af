import { z } from "zod";

const MAX_SLUG_LENGTH = 64;
const MAX_EXPRESSION_LENGTH = 2000;

/** A name that stands in expressions, step keys and logs: `approve`, `ask-again`, `first_name`. CEL reads a hyphen as minus, so names it is to see take `_`. */
export const slugSchema = z
  .string()
  .max(MAX_SLUG_LENGTH, { error: `expected at most ${MAX_SLUG_LENGTH} characters` })
  .regex(/^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/, {
    error: "expected lowercase letters and digits, beginning with a letter, in words joined by - or _",
  });

/** A condition or value in CEL. What it says is checked where the interpreter is. */
export const celSchema = z.string().min(1).max(MAX_EXPRESSION_LENGTH);

/** A Liquid template of 1 to `max` characters. */
export function templateSchema(max: number): z.ZodString {
  return z.string().min(1).max(max);
}

/** A table's name is a segment of its events' types, and the object of their record keys. */
export const tableSchema = z
  .string()
  .max(64)
  .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, { error: "expected a table: lowercase words joined by hyphens" });
