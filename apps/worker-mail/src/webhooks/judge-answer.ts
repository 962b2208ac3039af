import { CodedError, errorCodeOf, isCodedError } from "@toolctrl/foundation/errors";
import type { GuardedResponse } from "@toolctrl/runtime/guarded-http";
import { parseRetryAfter } from "./retry-after.ts";

/** How one try at an endpoint ended. The table is in docs/reference/webhooks.md. */
export type Verdict =
  | { readonly kind: "accepted" }
  | { readonly kind: "gone"; readonly error: CodedError }
  | { readonly kind: "permanent"; readonly error: CodedError }
  /** `unknown`: the endpoint may have taken it. `askedMs`: the wait it asked for. */
  | { readonly kind: "retry"; readonly error: CodedError; readonly unknown: boolean; readonly askedMs: number | null };

/** Judges an answer by its status. */
export function judgeAnswer(answer: Pick<GuardedResponse, "status" | "headers">, options: { maxRetryAfterMs: number }): Verdict {
  const { status } = answer;
  const facts = { status };
  if (status >= 200 && status < 300) return { kind: "accepted" };
  if (status === 410)
    return {
      kind: "gone",
      error: new CodedError("WEBHOOK.GONE", "expected the endpoint to take the delivery, got 410: it is gone", { facts }),
    };
  if (status === 429 || status >= 500) {
    const askedMs = status === 429 || status === 503 ? parseRetryAfter(answer.headers, options.maxRetryAfterMs) : null;
    const error = new CodedError("WEBHOOK.FAILED", `expected the endpoint to answer 2xx, got ${status}`, { facts });
    return { kind: "retry", error, unknown: false, askedMs };
  }
  return { kind: "permanent", error: new CodedError("WEBHOOK.REJECTED", `expected the endpoint to answer 2xx, got ${status}`, { facts }) };
}

/** Judges a request that ended without a whole answer. */
export function judgeError(thrown: unknown, options: { maxRetryAfterMs: number }): Verdict {
  const facts = isCodedError(thrown) ? thrown.facts : {};
  const status = facts["status"];
  // The status came, the rest did not: the status decides. A redirect is one of these too.
  if (typeof status === "number") return judgeAnswer({ status, headers: {} }, options);
  const code = errorCodeOf(thrown);
  if (isCodedError(thrown) && !thrown.retry) {
    return {
      kind: "permanent",
      error: new CodedError("WEBHOOK.REJECTED", `expected the endpoint to be reachable, got ${code}`, { facts: { code }, cause: thrown }),
    };
  }
  const connected = facts["connected"] === true;
  const error = connected
    ? new CodedError("WEBHOOK.OUTCOME_UNKNOWN", `expected an answer from the endpoint, got ${code} after the request was written`, {
        facts: { code },
        cause: thrown,
      })
    : new CodedError("WEBHOOK.FAILED", `expected the endpoint to be reachable, got ${code}`, { facts: { code }, cause: thrown });
  return { kind: "retry", error, unknown: connected, askedMs: null };
}
