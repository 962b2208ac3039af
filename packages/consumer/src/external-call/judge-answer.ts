import { CodedError, errorCodeOf, isCodedError } from "@toolctrl/foundation/errors";
import { answerIn } from "@toolctrl/runtime/guarded-http";
import type { CallAnswer, CallTerms, Verdict } from "./external-call.ts";
import { parseRetryAfter } from "./retry-after.ts";

type Terms = Pick<CallTerms, "peer" | "codes" | "retriedStatuses">;
type Options = { readonly maxRetryAfterMs: number };

/** Judges an answer by its status. */
export function judgeAnswer(answer: CallAnswer, { peer, codes, retriedStatuses = [] }: Terms, { maxRetryAfterMs }: Options): Verdict {
  const { status } = answer;
  const facts = { status };
  if (status >= 200 && status < 300) return { kind: "accepted", answer };
  if (status === 410) {
    return { kind: "gone", error: new CodedError(codes.gone, `expected the ${peer} to take the delivery, got 410: it is gone`, { facts }) };
  }
  const why = `expected the ${peer} to answer 2xx, got ${status}`;
  if (status === 429 || status >= 500 || retriedStatuses.includes(status)) {
    const askedMs = status === 429 || status === 503 ? parseRetryAfter(answer.headers, maxRetryAfterMs) : null;
    return { kind: "retry", error: new CodedError(codes.failed, why, { facts }), unknown: false, askedMs };
  }
  return { kind: "permanent", error: new CodedError(codes.rejected, why, { facts }) };
}

/** Judges a request that ended without a whole answer. */
export function judgeError(thrown: unknown, terms: Terms, options: Options): Verdict {
  // The status came, the rest did not: the status decides. A redirect is one of these too.
  const answer = answerIn(thrown);
  if (answer !== null) return judgeAnswer({ ...answer, body: null }, terms, options);
  const { peer, codes } = terms;
  const code = errorCodeOf(thrown);
  const about = { facts: { code }, cause: thrown };
  if (isCodedError(thrown) && !thrown.retry) {
    return { kind: "permanent", error: new CodedError(codes.rejected, `expected the ${peer} to be reachable, got ${code}`, about) };
  }
  const connected = isCodedError(thrown) && thrown.facts["connected"] === true;
  const error = connected
    ? new CodedError(codes.unknown, `expected an answer from the ${peer}, got ${code} after the request was written`, about)
    : new CodedError(codes.failed, `expected the ${peer} to be reachable, got ${code}`, about);
  return { kind: "retry", error, unknown: connected, askedMs: null };
}
