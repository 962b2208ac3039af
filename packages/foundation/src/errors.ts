import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";
import { storableText } from "./text.ts";

export { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** Of a foreign error's code or name. */
const MAX_CODE_LENGTH = 100;

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

/**
 * The code of a coded error, the `code` of a system or driver error, else the error's name. It can be stored, whatever others call their
 * errors: else the failure could not be settled, and would count as a crash.
 */
export function errorCodeOf(error: unknown): string {
  return storableText(givenCodeOf(error), MAX_CODE_LENGTH);
}

function givenCodeOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string") return error.code;
  const name: unknown = error instanceof Error ? error.name : typeof error;
  return typeof name === "string" ? name : "Error";
}

/** One line for a log or a `lastError` column: message and causes, at most `max` characters, storable. */
export function describeError(error: unknown, max = 2000): string {
  const parts: string[] = [];
  for (let current = error, depth = 0; current !== undefined && current !== null && depth < 5; depth += 1) {
    const text = textOf(current);
    if (text !== "" && !parts.includes(text)) parts.push(text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return storableText(parts.join(": "), max);
}

function textOf(thrown: unknown): string {
  // Of a foreign error even the message can be anything.
  const said: unknown = thrown instanceof Error ? thrown.message || thrown.name : thrown;
  if (typeof said === "string") return said;
  try {
    return JSON.stringify(said) ?? typeof said;
  } catch {
    // A cycle, or a BigInt.
    return typeof said;
  }
}

/** The end of an exhaustive switch. */
export function assertNever(value: never): never {
  throw new TypeError(`expected every case to be handled, got ${JSON.stringify(value)}`);
}
