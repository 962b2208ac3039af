import { isCodedError } from "@toolctrl/foundation/errors";
import { encodeStrictJson, isHiddenKey } from "@toolctrl/foundation/json";
import { listSchemaProblems, type SchemaProblem } from "@toolctrl/foundation/schema-problems";
import { z } from "zod";
import { checkRoutes } from "./check-routes.ts";
import { fieldsSchema, type FormField } from "./field-schema.ts";
import type { FormDefinition } from "./form.ts";
import { formArgument } from "./form-argument.ts";
import { routesSchema } from "./route-schema.ts";
import { textKey } from "./text-key.ts";

/** With the largest data, the events of a submission stay well inside what one publish takes. */
const MAX_DEFINITION_BYTES = 256 * 1024;

const definitionSchema = z.strictObject({ name: z.string().trim().min(1).max(200), fields: fieldsSchema, routes: routesSchema });

/**
 * A form's definition as it is stored. Whatever could be wrong with a rule is found here and not when a submission comes: fields that are
 * not there or of the wrong kind, addresses, templates.
 * @throws CodedError `FORM.ARGUMENT` with every path that is wrong
 */
export function checkDefinition(input: { readonly name: unknown; readonly fields: unknown; readonly routes: unknown }): FormDefinition {
  const given = { name: input.name, fields: input.fields, routes: input.routes };
  checkJson(given);
  const parsed = definitionSchema.safeParse(given);
  if (!parsed.success) throw formArgument(listSchemaProblems(parsed.error));
  const { fields, routes } = parsed.data;
  const problems = [...fields.flatMap((field, index) => checkField(field, index, fields)), ...checkRoutes(routes, fields)];
  if (problems.length > 0) throw formArgument(problems);
  return parsed.data;
}

// First, as the schemas would follow a cycle, and pass what jsonb refuses.
function checkJson(given: object): void {
  try {
    const { bytes } = encodeStrictJson(given);
    if (bytes > MAX_DEFINITION_BYTES) {
      throw formArgument([{ path: "form", message: `expected at most ${MAX_DEFINITION_BYTES} bytes of JSON, got ${bytes}` }]);
    }
  } catch (error) {
    if (!isCodedError(error) || error.code === "FORM.ARGUMENT") throw error;
    const path =
      typeof error.facts["path"] === "string" ? error.facts["path"].replace(/^payload\.?/, "").replaceAll(/\[(\d+)\]/g, ".$1") : "form";
    throw formArgument([{ path, message: error.message }]);
  }
}

function checkField(field: FormField, index: number, fields: readonly FormField[]): SchemaProblem[] {
  const path = `fields.${index}`;
  const problems: SchemaProblem[] = [];
  const first = fields.findIndex(({ name }) => name === field.name);
  if (first !== index) problems.push({ path: `${path}.name`, message: `expected each name once, got that of fields.${first} again` });
  if (isHiddenKey(field.name))
    problems.push({ path: `${path}.name`, message: `expected a name that expressions can read, got ${field.name}` });
  if (field.kind === "text" && field.minLength > field.maxLength) {
    problems.push({ path: `${path}.minLength`, message: `expected at most maxLength, ${field.maxLength}, got ${field.minLength}` });
  }
  if (field.kind === "choice" && new Set(field.choices.map(textKey)).size < field.choices.length) {
    problems.push({ path: `${path}.choices`, message: "expected choices that differ by more than case and spaces" });
  }
  if (field.kind === "choice" && field.choices.some((choice) => textKey(choice) === "")) {
    problems.push({ path: `${path}.choices`, message: "expected more than spaces, which is no answer" });
  }
  return problems;
}
