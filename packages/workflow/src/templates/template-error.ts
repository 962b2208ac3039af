import { CodedError, describeError, isCodedError } from "@toolctrl/foundation/errors";
import { storableText } from "@toolctrl/foundation/text";
import { LiquidError } from "liquidjs";
import { Timeout } from "../run-bounded.ts";

const CODE = "WORKFLOW.TEMPLATE";

/** Characters of the engine's own words. They may quote the data. */
const MAX_QUOTED = 200;

/** What went wrong with a template, with line and column (from 1) when it has a place. A coded error keeps its words and gets the place. */
export function templateError(error: unknown): CodedError {
  if (isCodedError(error)) return error;
  if (error instanceof Timeout) {
    const { milliseconds } = error;
    return new CodedError(CODE, `expected the template to end within ${milliseconds} ms, got no end`, { facts: { milliseconds } });
  }
  if (!LiquidError.is(error)) return new CodedError(CODE, `expected a template that renders, got: ${describeError(error, MAX_QUOTED)}`);
  const [line, column] = error.token.getPosition();
  if (isCodedError(error.originalError)) {
    const { message, facts } = error.originalError;
    return new CodedError(CODE, `${message}, at line ${line}, column ${column}`, { facts: { ...facts, line, column } });
  }
  // The engine's message ends in the place, in its own form.
  const got = storableText(error.message.replace(/(?:, line:\d+, col:\d+)+$/, ""), MAX_QUOTED);
  return new CodedError(CODE, `expected a template that renders, got ${got} at line ${line}, column ${column}`, {
    facts: { line, column },
  });
}

/** The same error, and which text of a value it is about. */
export function withPath(error: CodedError, path: string): CodedError {
  return new CodedError(CODE, `${error.message} (in ${path})`, { facts: { ...error.facts, path } });
}
