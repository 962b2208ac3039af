import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

export { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** An error that says what was expected, what came, how to fix it, and whether trying again can help. */
export class CodedError extends Error {
  readonly code: ErrorCode;
  /** What the reader can do about it, a sentence. */
  readonly fix: string;
  /** Whether the same call, unchanged, may succeed later. */
  readonly retry: boolean;
  /** What the message speaks of, as fields for logs and JSON. Holds no payload. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, why: string, options: { facts?: Record<string, unknown>; cause?: unknown } = {}) {
    super(why, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CodedError";
    this.code = code;
    this.fix = ERROR_CODES[code].fix;
    this.retry = ERROR_CODES[code].retry;
    this.facts = options.facts ?? {};
  }
}

/** Recognises a coded error by its shape, so that two copies of this module agree. */
export function isCodedError(error: unknown): error is CodedError {
  if (!(error instanceof Error) || !("code" in error) || !("fix" in error)) return false;
  return typeof error.code === "string" && Object.hasOwn(ERROR_CODES, error.code);
}

/** The code of a coded error, the `code` of a system or driver error, else the error's name. */
export function errorCodeOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : typeof error;
}

/** One line for a log or a `lastError` column: message and causes, at most `max` characters. */
export function describeError(error: unknown, max = 2000): string {
  const parts: string[] = [];
  for (let current = error, depth = 0; current !== undefined && current !== null && depth < 5; depth += 1) {
    const text = textOf(current);
    if (text !== "" && !parts.includes(text)) parts.push(text);
    current = current instanceof Error ? current.cause : undefined;
  }
  // NUL cannot be stored in PostgreSQL text; a peer's reply may hold one.
  return parts.join(": ").replaceAll("\u0000", "\uFFFD").slice(0, max);
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? typeof thrown);
}

/** The end of an exhaustive switch. */
export function assertNever(value: never): never {
  throw new TypeError(`expected every case to be handled, got ${JSON.stringify(value)}`);
}
