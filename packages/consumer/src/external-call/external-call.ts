import type { Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { CodedError, ErrorCode } from "@toolctrl/foundation/errors";
import type { AnswerHead, GuardedHttp, GuardedRequest, GuardedResponse } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { IntentEnd } from "../intents.ts";

/** The numbers of a consumer's calls. */
export interface CallPolicy {
  /** The one limit on a whole request, ms; shorter than a claim's life, so that a claim found expired has no running call behind it. */
  readonly deadlineMs: number;
  /** Tries per intent. */
  readonly maxAttempts: number;
  /** Wait before the second try, ms; doubles with each, up to an hour. */
  readonly backoffMs: number;
  /** Most that a Retry-After can ask for, ms. */
  readonly maxRetryAfterMs: number;
}

/** The names of a consumer's calls: in its metrics, its messages and the errors that people look up. */
export interface CallTerms {
  readonly consumer: ConsumerName;
  /** Who is called, as a message says it: `endpoint`. */
  readonly peer: string;
  readonly codes: {
    /** It is gone, and that is no failure of the event's. */
    readonly gone: ErrorCode;
    readonly rejected: ErrorCode;
    readonly failed: ErrorCode;
    readonly unknown: ErrorCode;
  };
  /** Answers below 500 that this peer takes back later, beside 429. */
  readonly retriedStatuses?: readonly number[];
}

export interface CallDeps extends CallPolicy {
  readonly pool: Database["pool"];
  readonly http: Pick<GuardedHttp, "request">;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The request, but for what every call has in common: its deadline, and the signal of its delivery. */
export type CallRequest = Omit<GuardedRequest, "deadlineMs" | "signal">;

/** No call now. `needless`: nothing is left to say, the intent is settled as sent. `later`: not before this wait, which is no try. */
export type Uncalled = { readonly kind: "needless" } | { readonly kind: "later"; readonly waitMs: number };

export interface ExternalCall {
  readonly terms: CallTerms;
  /**
   * Makes the request of this try, in the transaction that begins the call: what it reads under a lock is so until the call has begun.
   * An error that is answered, not thrown, settles the intent as failed without a call: there is no way to make it.
   */
  prepare(tx: Queryable): Promise<CallRequest | Uncalled | CodedError>;
  /** What else is written in the transaction that has just settled the intent. A call that could not be made is `permanent` here. */
  onSettle?(tx: Queryable, verdict: Verdict, end: IntentEnd): Promise<void>;
  /** Written where a call ended after another delivery had given it up: this one must settle nothing, but may have to tell of what it did. */
  onLost?(tx: Queryable, verdict: Verdict): Promise<void>;
}

/** `body` is null when status and headers came, and the rest did not come whole. */
export type CallAnswer = GuardedResponse | (AnswerHead & { readonly body: null });

/** How one try ended. The table is in docs/reference/webhooks.md. */
export type Verdict =
  | { readonly kind: "accepted"; readonly answer: CallAnswer }
  | { readonly kind: "gone"; readonly error: CodedError }
  | { readonly kind: "permanent"; readonly error: CodedError }
  /** `unknown`: the peer may have taken it. `askedMs`: the wait it asked for. */
  | { readonly kind: "retry"; readonly error: CodedError; readonly unknown: boolean; readonly askedMs: number | null };
