import { CodedError } from "@toolctrl/foundation/errors";

/** The error of a commit that could only be a rollback. `cause` is the swallowed error, where it is known. */
export function transactionAborted(cause?: unknown): CodedError {
  return new CodedError(
    "DB.TRANSACTION_ABORTED",
    "expected the transaction to commit, got a rollback: a statement in it had failed and the error was swallowed",
    {
      cause,
    },
  );
}
