import { z } from "zod";

/** One field of a payload, as the reference page lists it. */
export interface PayloadField {
  readonly name: string;
  readonly required: boolean;
  readonly accepts: string;
  readonly about: string;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What a payload schema says of itself and of each field; no fields for a schema that is no object of named ones. */
export function describePayload(schema: z.ZodType): { readonly about: string; readonly fields: PayloadField[] } {
  const root = z.toJSONSchema(schema, { io: "input" });
  const fields = Object.entries(root.properties ?? {}).map(([name, property]): PayloadField => {
    const field: JsonSchema = typeof property === "boolean" ? {} : property;
    const standard = field.default === undefined ? "" : `, default \`${JSON.stringify(field.default)}\``;
    return {
      name,
      required: (root.required ?? []).includes(name),
      accepts: describeType(field) + standard,
      about: field.description ?? "",
    };
  });
  return { about: root.description ?? "", fields };
}

function describeType(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return "any JSON";
  if (schema.anyOf !== undefined) return schema.anyOf.map((part) => describeType(part)).join(" or ");
  switch (schema.type) {
    case "string":
      return `text${bounds(schema.minLength, schema.maxLength, " characters")}`;
    case "array":
      return `list of ${bounds(schema.minItems, schema.maxItems, " ").replace(" of ", "")}${itemsOf(schema)}`;
    case "object":
      return "JSON object";
    default:
      return typeof schema.type === "string" ? schema.type : "any JSON";
  }
}

function itemsOf({ items }: JsonSchema): string {
  if (typeof items !== "object" || Array.isArray(items)) return "any JSON";
  return describeType(items).replace(/^text/, "texts");
}

function bounds(min: number | undefined, max: number | undefined, unit: string): string {
  if (max === undefined) return "";
  return min === undefined ? ` of at most ${max}${unit}` : ` of ${min} to ${max}${unit}`;
}
