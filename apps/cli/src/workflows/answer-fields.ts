import { assertNever } from "@toolctrl/foundation/errors";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import type { InputField } from "@toolctrl/foundation/workflows";

/** The fields of a question; they were checked when its workflow was saved. */
function fieldsOf(fields: JsonValue): readonly InputField[] {
  return fields as unknown as readonly InputField[];
}

/** What a question's fields are, for people: `approved (boolean), note (text, optional)`. */
export function formatFields(fields: JsonValue): string {
  return fieldsOf(fields)
    .map(
      (field) => `${field.name} (${field.type === "choice" ? field.choices.join(" | ") : field.type}${field.required ? "" : ", optional"})`,
    )
    .join(", ");
}

/** An answer of the right form, to be edited: the required fields, or all of them where none is. */
export function exampleAnswer(fields: JsonValue): JsonObject {
  const all = fieldsOf(fields);
  const required = all.filter((field) => field.required);
  return Object.fromEntries((required.length === 0 ? all : required).map((field) => [field.name, exampleOf(field)]));
}

function exampleOf(field: InputField): string | number | boolean {
  switch (field.type) {
    case "text":
      return "…";
    case "number":
      return 0;
    case "boolean":
      return true;
    case "date":
      return "2026-03-31";
    case "choice":
      return field.choices[0] ?? "…";
    default:
      return assertNever(field);
  }
}
