import type { z } from "zod";
import { metaOf } from "./env-fields.ts";

/** One variable, as the reference page lists it. */
export interface EnvVariable {
  readonly name: string;
  readonly required: boolean;
  readonly fallback: string | null;
  readonly accepts: string;
  readonly about: string;
}

/** Lists the variables of an app's schema, or of a part of one, in the order of their declaration. */
export function describeEnv(schema: z.ZodObject | z.ZodRawShape): EnvVariable[] {
  const shape = isObjectSchema(schema) ? schema.shape : schema;
  return Object.entries(shape).map(([name, field]) => {
    const meta = metaOf(field as z.ZodType);
    const absent = (field as z.ZodType).safeParse(undefined);
    const standard = absent.success && absent.data !== undefined ? JSON.stringify(absent.data) : null;
    const fallback = meta.fallback ?? standard;
    return { name, required: !absent.success, fallback, accepts: meta.accepts, about: meta.description };
  });
}

/** The variables as a Markdown table. */
export function renderEnvTable(variables: readonly EnvVariable[]): string {
  const rows = variables.map(({ name, required, fallback, accepts, about }) => {
    const standard = fallback === null ? (required ? "required" : "unset") : `\`${fallback}\``;
    return `| \`${name}\` | ${standard} | ${cell(accepts)} | ${cell(about)} |`;
  });
  return ["| Variable | Default | Accepts | Purpose |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function isObjectSchema(schema: z.ZodObject | z.ZodRawShape): schema is z.ZodObject {
  return typeof schema.safeParse === "function";
}
