import { describeError, isCodedError } from "@toolctrl/foundation/errors";
import { storableText } from "@toolctrl/foundation/text";
import { ExpressionProblem } from "./expression-problem.ts";

/** Characters of an error of the engine. It may quote the data. */
const MAX_QUOTED = 200;

/** The engine's words for what may stand somewhere. */
const TOKENS: Record<string, string> = {
  COLON: '":"',
  IDENTIFIER: "a name",
  RBRACE: '"}"',
  RBRACKET: '"]"',
  RPAREN: '")"',
};

/** What was expected where the engine found something else, by its codes. */
const EXPECTED: Record<string, string> = {
  unexpected_character: "an operator, a value or the end",
  unexpected_token: "a value",
  reserved_identifier: "a name that is not reserved",
};

/** What was expected where only the engine's own words say what there was. */
const EXPECTED_OTHERWISE: Record<string, string> = {
  limit_exceeded: "a smaller expression",
  no_such_overload: "operands of types that fit",
  no_matching_overload: "arguments of types that fit",
  invalid_logical_operand: "a condition to be true, false or null",
  incompatible_ternary_branches: "two values of one type",
};

interface EngineError extends Error {
  readonly code: string;
  readonly summary: string;
  readonly range?: { readonly start: number; readonly end: number };
}

/**
 * What the engine says, as a problem with its place. Coded errors stay as they are.
 * @param originOf the place in the source for a place in what the engine was given
 */
export function problemOf(error: unknown, source: string, originOf: (offset: number) => number): Error {
  if (isCodedError(error) || error instanceof ExpressionProblem) return error;
  if (!isEngineError(error)) return new ExpressionProblem(null, "the expression to have a value", describeError(error, MAX_QUOTED));
  const { code, summary, range, cause } = error;
  const offset = range === undefined ? null : originOf(range.start);
  if (cause instanceof ExpressionProblem) return new ExpressionProblem(offset, cause.expected, cause.got);
  const expected = expectedBy(code, summary);
  if (expected === null) return new ExpressionProblem(offset, EXPECTED_OTHERWISE[code] ?? "the expression to have a value", quote(summary));
  const found = range === undefined ? "" : source.slice(range.start, range.end);
  return new ExpressionProblem(offset, expected, found === "" ? "the end" : JSON.stringify(found.slice(0, MAX_QUOTED)));
}

/** The engine's words; a type that is known from the data alone has one name there and another here. */
function quote(summary: string): string {
  return storableText(summary.replaceAll(/dyn<([\w.]+)>/g, "$1"), MAX_QUOTED);
}

function expectedBy(code: string, summary: string): string | null {
  if (code !== "expected_token") return EXPECTED[code] ?? null;
  const token = /^Expected (\w+)/.exec(summary)?.[1] ?? "";
  return TOKENS[token] ?? token;
}

function isEngineError(error: unknown): error is EngineError {
  return (
    error instanceof Error && "summary" in error && typeof error.summary === "string" && "code" in error && typeof error.code === "string"
  );
}
