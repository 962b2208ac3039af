import { CodedError, describeError } from "@toolctrl/foundation/errors";

/** What every fault of a store's server becomes: the caller can only try again later, whatever it was. */
export function storeUnavailable(kind: "redis" | "postgres", operation: string, cause: unknown): CodedError {
  return new CodedError("STORE.UNAVAILABLE", `expected ${kind} to answer ${operation}, got ${describeError(cause, 300)}`, {
    facts: { store: kind, operation },
    cause,
  });
}
