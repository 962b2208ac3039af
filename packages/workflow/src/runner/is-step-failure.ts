import { isCodedError } from "@toolctrl/foundation/errors";

/** Data the database refuses, constraints, and its own limits: SQLSTATE classes 22, 23 and 54. */
const REFUSED = /^(?:22|23|54)/;

/**
 * Whether an error is the step's own, so that it counts against its tries: what a block says of its input, or the database of its data. A
 * lock, a lost connection or a bug is not: the delivery is tried again, and the step with it.
 */
export function isStepFailure(error: unknown): boolean {
  if (isCodedError(error)) return !/^(?:DB|QUEUE|STORE|RECEIVER)\./.test(error.code);
  return error instanceof Error && "code" in error && typeof error.code === "string" && error.code.length === 5 && REFUSED.test(error.code);
}
