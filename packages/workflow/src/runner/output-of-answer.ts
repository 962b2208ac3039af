import type { JsonValue } from "@toolctrl/foundation/json";
import type { GuardedResponse } from "@toolctrl/runtime/guarded-http";
import { storableText } from "../storable-text.ts";
import { createTextBudget } from "../text-budget.ts";
import { toJson } from "../to-json.ts";

/** What is around a body where expressions read it: `steps`, and the step's output. */
const LEVELS_AROUND = 2;

/** What an accepted answer gives as its step's output; of one that never came whole nothing is known but that. */
export function outputOf(answer: GuardedResponse | null): JsonValue {
  if (answer === null) return { status: null, headers: {}, body: null };
  const { status, headers } = answer;
  return { status, headers, body: bodyOf(answer) };
}

/** JSON where the answer says it is JSON, is, and can be read by an expression; text otherwise. Whatever came, the database can hold it. */
function bodyOf({ headers, body }: GuardedResponse): JsonValue {
  const text = body.toString("utf8");
  if (/\bjson\b/i.test(headers["content-type"] ?? "")) {
    try {
      return toJson(JSON.parse(text), createTextBudget("WORKFLOW.EXPRESSION", "the answer"), LEVELS_AROUND);
    } catch {
      // It only said so, or is nested too deep.
    }
  }
  return storableText(text);
}
