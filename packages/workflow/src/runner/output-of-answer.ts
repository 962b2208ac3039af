import type { CallAnswer } from "@toolctrl/consumer/external-call";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { GuardedResponse } from "@toolctrl/runtime/guarded-http";
import { storableText } from "@toolctrl/foundation/text";
import { createTextBudget } from "../text-budget.ts";
import { toJson } from "../to-json.ts";

/** What is around a body where expressions read it: `steps`, and the step's output. */
const LEVELS_AROUND = 2;

/** What an accepted answer gives as its step's output: of one that never came whole no body. */
export function outputOf(answer: CallAnswer): JsonValue {
  const { status, headers } = answer;
  if (answer.body === null) return { status, headers, body: null, truncated: true };
  return { status, headers, body: bodyOf(answer), truncated: answer.truncated };
}

/** JSON where the answer says it is JSON, is, and can be read by an expression; text otherwise. Whatever came, the database can hold it. */
function bodyOf({ headers, body }: GuardedResponse): JsonValue {
  const type = headers["content-type"] ?? "";
  const text = textOf(body, type);
  if (/\bjson\b/i.test(type)) {
    try {
      return toJson(JSON.parse(text), createTextBudget("WORKFLOW.EXPRESSION", "the answer"), LEVELS_AROUND);
    } catch {
      // It only said so, was cut, or is nested too deep.
    }
  }
  return storableText(text);
}

/** In the charset that the answer names, where there is such a one, else UTF-8. A mark of the byte order is no part of the text. */
function textOf(body: Buffer, type: string): string {
  const label = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1];
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
