import { isCodedError, type CodedError } from "@toolctrl/foundation/errors";

/** The coded error that a call throws; any other error, and none, fails the test. */
export function thrownBy(run: () => unknown): CodedError {
  try {
    run();
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  throw new Error("expected a coded error, got none");
}

/** Brackets in each other. */
export function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}
