import { MAX_PAYLOAD_DEPTH, type JsonObject, type JsonValue } from "@toolctrl/foundation/json";
import { Output, RenderError, toValue, toValueSync, type Liquid } from "liquidjs";
import { inert, type Variables } from "../inert.ts";
import { createTextBudget, type TextBudget } from "../text-budget.ts";
import { toJson } from "../to-json.ts";
import { createInertContext, type InertContext } from "./inert-context.ts";
import { templateError, withPath } from "./template-error.ts";

/** What all texts of a value share: the variables, the memory, the room for the result. */
interface Rendering {
  readonly engine: Liquid;
  readonly variables: object;
  readonly context: InertContext;
  readonly result: TextBudget;
}

/** Renders each text of a JSON value. @throws CodedError `WORKFLOW.TEMPLATE` with the text's path */
export function renderMembers(value: JsonValue, variables: Variables, engine: Liquid): JsonValue {
  const scope = inert(variables, createTextBudget("WORKFLOW.TEMPLATE", "the data that is read")) as object;
  const result = createTextBudget("WORKFLOW.TEMPLATE", "the result");
  return member(value, { engine, variables: scope, context: createInertContext(engine, scope), result }, []);
}

function member(value: JsonValue, rendering: Rendering, path: readonly string[]): JsonValue {
  if (typeof value === "string") return text(value, rendering, path);
  if (typeof value !== "object" || value === null) return value;
  const { result } = rendering;
  if (path.length >= MAX_PAYLOAD_DEPTH) result.refuse(`nested at most ${MAX_PAYLOAD_DEPTH} levels deep`, "more");
  if (Array.isArray(value)) {
    result.spend(value.length + 1);
    return value.map((item, index) => member(item, rendering, [...path, String(index)]));
  }
  const object: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    // The one key whose assignment would set a prototype.
    if (key === "__proto__") continue;
    result.spend(key.length + 1);
    object[key] = member(item, rendering, [...path, key]);
  }
  return object;
}

function text(template: string, rendering: Rendering, path: readonly string[]): JsonValue {
  try {
    return toJson(valueOf(template, rendering), rendering.result, path.length);
  } catch (error) {
    throw path.length === 0 ? templateError(error) : withPath(templateError(error), path.join("."));
  }
}

/** One placeholder and nothing around it is its value; anything else is a text. */
function valueOf(template: string, { engine, variables, context }: Rendering): unknown {
  if (!template.includes("{{") && !template.includes("{%")) return template;
  const parts = engine.parse(template);
  const own = context.spawn(variables);
  const [only] = parts;
  if (parts.length !== 1 || !(only instanceof Output)) return engine.renderSync(parts, own) as unknown;
  try {
    return toValue(toValueSync(only.value.value(own)));
  } catch (error) {
    throw new RenderError(error as Error, only);
  }
}
