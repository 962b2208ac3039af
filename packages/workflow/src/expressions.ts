import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { compile } from "./expressions/compile.ts";
import { ExpressionProblem } from "./expressions/expression-problem.ts";
import { kindOf } from "./expressions/functions.ts";
import { environments, type Environments } from "./expressions/language.ts";
import { inert, type Variables } from "./inert.ts";
import { runBounded, Timeout } from "./run-bounded.ts";
import { createTextBudget } from "./text-budget.ts";
import { toJson } from "./to-json.ts";

export { isCase } from "./expressions/is-case.ts";

const LIMIT_MS = 500;
const CODE = "WORKFLOW.EXPRESSION";

/**
 * Checks an expression without data: that it parses, that it uses what the language has, and that the types that are known fit.
 * @throws CodedError `WORKFLOW.EXPRESSION` with line and column, from 1, and what was expected there
 */
export function checkExpression(source: string): void {
  const compiled = (languages: Environments): unknown => compile(source, languages);
  bounded(source, compiled);
}

/**
 * The value of an expression. A path that leads nowhere is null. Numbers are JSON's; a moment is its ISO 8601 text.
 *
 * @param variables JSON by name; the expression sees copies of what it reads, 1 MiB of text at most
 * @throws CodedError `WORKFLOW.EXPRESSION`: see {@link checkExpression}; also when the data does not fit what is asked of it, when the
 *   result is no JSON (bytes, infinity, a whole number beyond 2^53 - 1) or larger than 1 MiB, or after 500 ms
 */
export function evaluateValue(source: string, variables: Variables): JsonValue {
  return bounded(source, (languages) => {
    const result = compile(source, languages)(inert(variables, createTextBudget(CODE, "the data that is read")) as object);
    return toJson(result, createTextBudget(CODE, "the result"));
  });
}

/**
 * Whether a condition holds. The one rule, also for the operands of `!`, `&&`, `||` and `?:`: true holds; false and null (so a path that
 * leads nowhere) do not; anything else is an error, as nobody knows what its author meant. As ever in CEL, an error on one side of `&&` and
 * `||` is of no account when the other side decides alone.
 *
 * @throws CodedError `WORKFLOW.EXPRESSION`: see {@link evaluateValue}; also for another result
 */
export function evaluateCondition(source: string, variables: Variables): boolean {
  const result = evaluateValue(source, variables);
  if (typeof result === "boolean" || result === null) return result === true;
  throw codedError(source, new ExpressionProblem(null, "a condition to be true, false or null", kindOf(result)));
}

function bounded<T>(source: string, work: (languages: Environments) => T): T {
  // Made once, and not on an expression's time.
  const languages = environments();
  try {
    return runBounded(LIMIT_MS, () => work(languages));
  } catch (error) {
    if (isCodedError(error)) throw error;
    if (error instanceof ExpressionProblem) throw codedError(source, error);
    if (error instanceof Timeout) throw codedError(source, new ExpressionProblem(null, `an end within ${LIMIT_MS} ms`, "none"));
    throw error;
  }
}

function codedError(source: string, { offset, expected, got }: ExpressionProblem): CodedError {
  if (offset === null) return new CodedError(CODE, `expected ${expected}, got ${got}`, { facts: { expected, got } });
  const before = source.slice(0, offset).split("\n");
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  return new CodedError(CODE, `expected ${expected} at line ${line}, column ${column}, got ${got}`, {
    facts: { line, column, expected, got },
  });
}
