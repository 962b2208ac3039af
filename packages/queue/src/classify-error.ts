import { CodedError, describeError, isCodedError } from "@toolctrl/foundation/errors";

/**
 * How far a failed request to the queue's server reaches.
 * - `down`: the server cannot be reached or refuses every write; trying other entries is pointless.
 * - `lost`: the connection broke under way; what had been sent may or may not be there.
 * - `entry`: this request alone was refused.
 */
export type FailureReach = "down" | "lost" | "entry";

export interface ClassifiedFailure {
  readonly reach: FailureReach;
  readonly error: CodedError;
}

// Replies of a Redis that takes no writes now: a replica, one that loads its file, is full, cannot save, has lost its replicas …
// Or one that does not take ours: by its rights or limits, or because another node of its cluster has our keys. What is refused on its way into a transaction ends it.
// Older servers wrap the reply of a script: "ERR Error running script … -READONLY You can't write …".
const REDIS_REFUSES =
  /(?:^|: |-)(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM|DENIED|TRYAGAIN|MOVED|ASK|CROSSSLOT|BUSY|UNBLOCKED|EXECABORT|ERR max [a-z ]+(?:reached|exceeded))\b/;
const CERTIFICATE = /CERT|^ERR_TLS_|^ERR_SSL_|^UNABLE_TO_VERIFY_|^EPROTO$/;
const CONNECTION_LOST = /connection (is closed|terminated|ended)|connection close|max retries per request|socket (timeout|closed|hang up)/i;
const NOT_CONNECTED =
  /stream isn't writeable|timeout exceeded when trying to connect|client has encountered a connection error|after calling end on the pool/i;
// A cluster that has no node for the slot, or whose nodes send a command from one to the other.
const CLUSTER_AWAY = /cluster isn't ready|cluster is ended|too many cluster redirections|refresh slots cache|none of startup nodes/i;
const TIMED_OUT = /command timed out|query read timeout|statement timeout/i;
const LOST_CODES = new Set(["ECONNRESET", "ECONNABORTED", "EPIPE"]);
const DOWN_CODES = new Set([
  "ECONNREFUSED",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOENT",
]);

/** Turns whatever a client library threw into a coded error, and says how far the failure reaches. */
export function classifyQueueError(error: unknown): ClassifiedFailure {
  if (isCodedError(error)) {
    return { reach: error.code === "QUEUE.UNREACHABLE" || error.code === "QUEUE.TIMEOUT" ? "down" : "entry", error };
  }
  const text = describeError(error, 500);
  const code = typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "";
  if (TIMED_OUT.test(text) || code === "57014") return failure("down", "QUEUE.TIMEOUT", text, error);
  if (DOWN_CODES.has(code) || CERTIFICATE.test(code) || NOT_CONNECTED.test(text) || CLUSTER_AWAY.test(text) || REDIS_REFUSES.test(text))
    return failure("down", "QUEUE.UNREACHABLE", text, error);
  if (LOST_CODES.has(code) || CONNECTION_LOST.test(text)) return failure("lost", "QUEUE.UNREACHABLE", text, error);
  if (/^[0-9A-Z]{5}$/.test(code)) return classifySqlState(code, text, error);
  return failure("entry", "QUEUE.REJECTED", text, error);
}

function classifySqlState(code: string, text: string, error: unknown): ClassifiedFailure {
  // 08 connection, 28 no such user, 3D no such database, 53 resources, 57P server stopping or starting, 25006 read-only: the server as a whole takes nothing now.
  if (/^(08|28|3D|53|57P)/.test(code) || code === "25006") return failure("down", "QUEUE.UNREACHABLE", text, error);
  // 22 data, 23 constraint, 54 limits: about the entry itself.
  if (/^(22|23|54)/.test(code)) return failure("entry", "QUEUE.REJECTED", text, error);
  return failure("entry", "QUEUE.UNREACHABLE", text, error);
}

function failure(
  reach: FailureReach,
  code: "QUEUE.TIMEOUT" | "QUEUE.UNREACHABLE" | "QUEUE.REJECTED",
  text: string,
  cause: unknown,
): ClassifiedFailure {
  const expected = code === "QUEUE.REJECTED" ? "the job to be accepted" : "the queue's server to take the request";
  return { reach, error: new CodedError(code, `expected ${expected}, got: ${text}`, { cause }) };
}

export function timeoutError(what: string, ms: number): CodedError {
  return new CodedError("QUEUE.TIMEOUT", `expected ${what} to end within ${ms} ms, got no answer`, { facts: { what, ms } });
}

export function unreachableError(what: string, cause?: unknown): CodedError {
  return new CodedError("QUEUE.UNREACHABLE", `expected the queue's server to answer, got ${what}`, cause === undefined ? {} : { cause });
}
