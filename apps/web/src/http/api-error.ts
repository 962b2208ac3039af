import { isDatabaseAway } from "@toolctrl/db/client";
import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import { MAX_BODY_BYTES } from "./limits.ts";
import { ERROR_STATUS } from "./error-status.ts";

/** What a caller is told of an error. */
export interface ApiError {
  readonly status: number;
  readonly body: { readonly error: Pick<CodedError, "code" | "message" | "fix" | "facts"> };
}

/** An error as it is answered. Of a fault of ours the caller learns that there was one: the log has the rest. */
export function apiErrorOf(thrown: unknown): ApiError {
  const error = toCoded(thrown);
  const { code, message, fix, facts } = error;
  return { status: statusOf(thrown) ?? ERROR_STATUS[code] ?? 500, body: { error: { code, message, fix, facts } } };
}

function toCoded(thrown: unknown): CodedError {
  if (isCodedError(thrown) && ERROR_STATUS[thrown.code] !== undefined) return thrown;
  if (isDatabaseAway(thrown)) return new CodedError("API.UNAVAILABLE", "expected the database to answer, got it away or busy");
  const status = statusOf(thrown);
  if (status === 413) return new CodedError("API.TOO_LARGE", `expected a body of at most ${MAX_BODY_BYTES} bytes, got more`);
  if (status !== null && thrown instanceof Error)
    return new CodedError("API.ARGUMENT", `expected a request that can be read, got: ${thrown.message}`);
  return new CodedError("API.FAILED", "expected the request to be handled, got a fault of the web app");
}

/** What the server itself says of a request that it could not read. */
function statusOf(thrown: unknown): number | null {
  if (!(thrown instanceof Error) || isCodedError(thrown) || !("statusCode" in thrown)) return null;
  const { statusCode } = thrown;
  return typeof statusCode === "number" && statusCode >= 400 && statusCode < 500 ? statusCode : null;
}
